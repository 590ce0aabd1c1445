"""From runs to packs: a pure function. No clock, no file, no device."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from launch.plan.calibration import Calibration
from launch.wording import in_bytes
from plasticity_lab.component import load
from plasticity_lab.errors import PlanError
from plasticity_lab.records.identity import pack_id
from plasticity_lab.records.plan import Pack, evenly
from plasticity_lab.run import Run

BYTES_A_PARAMETER = 20
"""A parameter, its gradient, two moments and an anchor, in float32."""
SEEDS = ("seed", "stream_seed", "init_seed")


class TooLarge(PlanError):
    """A run that fits into no pack; `bytes` is what it needs alone."""

    def __init__(self, needed: int, sentence: str) -> None:
        super().__init__(sentence)
        self.bytes = needed


@dataclass(frozen=True)
class Size:
    """What planning must know of a run.

    flops: the operations of one step. bytes: what it takes in a pack. convolves: whether its network has convolutions.
    parameters: those of its network.
    """

    steps: int
    flops: int
    bytes: int
    convolves: bool
    parameters: int = 0


@dataclass(frozen=True)
class _Cut:
    """Runs that are to become one pack, and what they have in common."""

    runs: Sequence[Run]
    size: Size
    mode: str
    narrowed: bool

    def halves(self) -> list["_Cut"]:
        return [_Cut(half, self.size, self.mode, self.narrowed) for half in evenly(self.runs, 2)]


def stacking_key(run: Run) -> str:
    """What must agree inside a pack: everything but the seeds and the settings that components put on the run axis."""
    science = run.science
    structure: dict[str, Any] = {key: value for key, value in science.items() if key not in SEEDS}
    for group, target in run.targets.items():
        own = load(target).run_axis_settings()
        structure[group] = {key: value for key, value in science[group].items() if key not in own}
    return json.dumps([structure, run.targets], sort_keys=True)  # settings are typed: equal ones are written alike


def plan(
    runs: Sequence[Run],
    *,
    size_of: Callable[[Run], Size],
    mode_of: Callable[[int], str],
    kind: str,
    calibration: Calibration,
    memory: int,
    workers: int,
    taken: Callable[[str], bool] = lambda pack: False,
    widest: Mapping[str, int] | None = None,
) -> list[Pack]:
    """The same runs in any order give the same packs, long ones first.

    size_of: asked once for all runs that could share a pack. memory: bytes a pack may use. workers: there is at
    least one pack for each, where there are as many runs. taken: whether a pack id was used by an earlier attempt.
    widest: the most runs in the pack of a run that failed before.  Raises TooLarge naming a run that does not fit.
    """
    groups: dict[tuple[str, int | None], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.id):
        groups[stacking_key(run), (widest or {}).get(run.id)].append(run)
    sized: dict[str, Size] = {}
    cuts: list[_Cut] = []
    for (key, most), alike in groups.items():
        if key not in sized:
            size = size_of(alike[0])
            sized[key] = replace(size, bytes=calibration.of(size.convolves).bytes(size.bytes))
        cuts += _cut(alike, sized[key], mode_of(sized[key].steps), kind, calibration, memory, most)
    while len(cuts) < min(workers, len(runs)):
        largest = max(range(len(cuts)), key=lambda at: (len(cuts[at].runs), cuts[at].size.steps))
        cuts += cuts.pop(largest).halves()
    packs = [_pack(cut, kind, calibration, taken) for cut in cuts]
    return sorted(packs, key=lambda pack: (-pack.seconds, pack.id))


def _cut(
    alike: Sequence[Run], size: Size, mode: str, kind: str, calibration: Calibration, memory: int, most: int | None
) -> list[_Cut]:
    """Runs that agree in structure, cut so that each part fits."""
    if size.bytes > memory:
        most_for, smaller = "images", "fewer benchmark.images"
        if 2 * BYTES_A_PARAMETER * size.parameters > size.bytes:
            most_for, smaller = f"the {size.parameters:,} parameters of its network", "a smaller network.width"
        raise TooLarge(
            size.bytes,
            f"Run {alike[0].id} needs {in_bytes(size.bytes)} alone, most of it for {most_for}, and a pack may use "
            f"{in_bytes(memory)} on {kind}; choose {smaller} or another device.",
        )
    wanted = min(calibration.of(size.convolves).width[mode], most or len(alike))
    width = min(wanted, memory // size.bytes)
    narrowed = width < min(wanted, len(alike))
    return [_Cut(part, size, mode, narrowed) for part in evenly(alike, -(-len(alike) // width))]


def _pack(cut: _Cut, kind: str, calibration: Calibration, taken: Callable[[str], bool]) -> Pack:
    ids = tuple(run.id for run in cut.runs)
    attempt = 0
    while taken(pack_id(ids, attempt)):
        attempt += 1
    science, size = cut.runs[0].science, cut.size
    return Pack(
        id=pack_id(ids, attempt),
        attempt=attempt,
        runs=ids,
        label=f"{science['activation']['name']} · {science['benchmark']['name']}",
        kind=kind,
        mode=cut.mode,
        steps=size.steps,
        bytes=size.bytes * len(ids),
        seconds=calibration.of(size.convolves).seconds(cut.mode, len(ids), size.steps, size.flops),
        narrowed=cut.narrowed,
    )
