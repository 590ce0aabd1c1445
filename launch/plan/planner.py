"""From runs to packs: a pure function. No clock, no file, no device."""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from launch.plan.speed import Calibration
from launch.wording import in_bytes
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.errors import PlanError
from plasticity_lab.records.identity import pack_id
from plasticity_lab.records.plan import Pack, evenly
from plasticity_lab.run import SEEDS, Run


class TooLarge(PlanError):
    """A run that fits into no pack.  bytes: what it needs alone. most: what a pack may use of that memory."""

    def __init__(self, needed: int, most: int, sentence: str) -> None:
        super().__init__(sentence)
        self.bytes, self.most = needed, most


@dataclass(frozen=True)
class _Cut:
    """Runs that agree in structure, to be cut into packs of one width, or two that differ by one.

    A compiled graph is of one width, and a worker compiles as many as there are. bytes: what one run takes of the
    device's memory. packs: how many. narrowed: whether memory makes packs narrower than they would be.
    """

    runs: Sequence[Run]
    cost: Cost
    bytes: int
    mode: str
    packs: int
    narrowed: bool

    @property
    def widest(self) -> int:
        return -(-len(self.runs) // self.packs)


def plan(
    runs: Sequence[Run],
    *,
    cost_of: Callable[[Run], Cost],
    mode_of: Callable[[Run, Cost], str],
    kind: str,
    calibration: Calibration,
    memory: int,
    workers: int,
    host_memory: int = sys.maxsize,
    taken: Callable[[str], bool] = lambda pack: False,
    widest: Mapping[str, int] | None = None,
) -> list[Pack]:
    """The same runs in any order give the same packs, long ones first.

    cost_of: asked once for all runs that could share a pack. mode_of: of a run and what it costs. memory: bytes a
    pack may use on its device, and host_memory beside a device with memory of its own. workers: there is at least one
    pack for each, where there are as many runs. taken: whether a pack id was used by an earlier attempt. widest: the
    most runs in the pack of a run that failed before.
    Raises TooLarge naming a run that does not fit.
    """
    groups: dict[tuple[str, int | None], list[Run]] = defaultdict(list)
    keys: dict[tuple[object, ...], str] = {}
    for run in sorted(runs, key=lambda run: run.id):
        # Runs of one command have most settings as the same objects, and the key need not be spelled for each of them.
        same = (*run.science, *(id(value) for key, value in run.science.items() if key not in SEEDS), id(run.targets))
        same += tuple(map(id, run.besides.values()))
        if same not in keys:
            keys[same] = run.structure()
        groups[keys[same], (widest or {}).get(run.id)].append(run)
    costs: dict[str, Cost] = {}
    cuts: list[_Cut] = []
    for (key, most), alike in groups.items():
        if key not in costs:
            costs[key] = cost_of(alike[0])
        mode = mode_of(alike[0], costs[key])
        cuts.append(_cut(alike, costs[key], mode, kind, calibration, memory, host_memory, most))
    while sum(cut.packs for cut in cuts) < min(workers, len(runs)):
        largest = max(range(len(cuts)), key=lambda at: (cuts[at].widest, cuts[at].cost.updates))
        cuts[largest] = replace(cuts[largest], packs=cuts[largest].packs + 1)
    packs = [_pack(cut, part, kind, calibration, taken) for cut in cuts for part in evenly(cut.runs, cut.packs)]
    return sorted(packs, key=lambda pack: (-pack.seconds, pack.id))


@dataclass(frozen=True)
class _Need:
    """What one run takes of a memory: bytes, by shares, of `most` that a pack may use.  where: as in "on cpu"."""

    bytes: int
    shares: Sequence[Share]
    most: int
    where: str


def _needs(cost: Cost, kind: str, calibration: Calibration, memory: int, host_memory: int) -> list[_Need]:
    """Of each memory; a CPU's is the host's, a GPU has its own and the host's is needed beside it."""
    device = calibration.of(cost.speed).bytes(cost.device_bytes)
    if kind.startswith("cpu"):
        return [_Need(device + cost.host_bytes, [*cost.memory, *cost.host_memory], memory, f"on {kind}")]
    host = _Need(cost.host_bytes, cost.host_memory, host_memory, "of the memory of its machine")
    return [_Need(device, cost.memory, memory, f"on {kind}"), *([host] if cost.host_bytes else [])]


def _cut(
    runs: Sequence[Run],
    cost: Cost,
    mode: str,
    kind: str,
    calibration: Calibration,
    memory: int,
    host_memory: int,
    most: int | None,
) -> _Cut:
    """Runs that agree in structure, cut so that each part fits.  most: as many as a part may have; None for any."""
    needs = _needs(cost, kind, calibration, memory, host_memory)
    wanted = min(calibration.of(cost.speed).widest(mode), most or len(runs))
    width = min(wanted, _fitting(runs[0], needs))
    narrowed = width < min(wanted, len(runs))
    return _Cut(runs, cost, needs[0].bytes, mode, -(-len(runs) // width), narrowed)


def widest(run: Run, cost: Cost, mode: str, kind: str, calibration: Calibration, memory: int, host_memory: int) -> int:
    """The most runs like one that a pack has, however many there are.  As in `plan`.  Raises TooLarge."""
    fitting = _fitting(run, _needs(cost, kind, calibration, memory, host_memory))
    return min(calibration.of(cost.speed).widest(mode), fitting)


def _fitting(run: Run, needs: Sequence[_Need]) -> int:
    """How many runs like one fit into the memories of a pack.  Raises TooLarge where it does not fit alone."""
    for need in needs:
        if need.bytes > need.most:
            largest = max(need.shares, key=lambda share: share.bytes)
            raise TooLarge(
                need.bytes,
                need.most,
                f"Run {run.id} needs {in_bytes(need.bytes)} alone, most of it for {largest.what}, and a pack may "
                f"use {in_bytes(need.most)} {need.where}; choose {largest.smaller} or another device.",
            )
    return min(need.most // need.bytes for need in needs)


def _pack(cut: _Cut, runs: Sequence[Run], kind: str, calibration: Calibration, taken: Callable[[str], bool]) -> Pack:
    ids = tuple(run.id for run in runs)
    attempt = 0
    while taken(pack_id(ids, attempt)):
        attempt += 1
    science, cost = runs[0].science, cut.cost
    return Pack(
        id=pack_id(ids, attempt),
        attempt=attempt,
        runs=ids,
        family=f"{science['activation']['name']} · {science['benchmark']['name']}",
        kind=kind,
        mode=cut.mode,
        steps=cost.length,
        unit=cost.unit,
        updates=cost.updates,
        bytes=cut.bytes * len(ids),
        seconds=calibration.seconds(cost, cut.mode, len(ids)),
        narrowed=cut.narrowed,
    )
