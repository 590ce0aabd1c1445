"""From runs to packs: a pure function. No clock, no file, no device."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from launch.plan.speed import Calibration
from launch.wording import in_bytes
from plasticity_lab.agents.cost import Cost
from plasticity_lab.errors import PlanError
from plasticity_lab.records.identity import pack_id
from plasticity_lab.records.plan import Pack, evenly
from plasticity_lab.run import SEEDS, Run


class TooLarge(PlanError):
    """A run that fits into no pack; `bytes` is what it needs alone."""

    def __init__(self, needed: int, sentence: str) -> None:
        super().__init__(sentence)
        self.bytes = needed


@dataclass(frozen=True)
class _Cut:
    """Runs that agree in structure, to be cut into packs of one width, or two that differ by one.

    A compiled graph is of one width, and a worker compiles as many as there are. bytes: what one run takes. packs: how
    many. narrowed: whether memory makes packs narrower than they would be.
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
    taken: Callable[[str], bool] = lambda pack: False,
    widest: Mapping[str, int] | None = None,
) -> list[Pack]:
    """The same runs in any order give the same packs, long ones first.

    cost_of: asked once for all runs that could share a pack. mode_of: of a run and what it costs. memory: bytes a
    pack may use. workers: there is at least one pack for each, where there are as many runs. taken: whether a pack id
    was used by an earlier attempt. widest: the most runs in the pack of a run that failed before.
    Raises TooLarge naming a run that does not fit.
    """
    groups: dict[tuple[str, int | None], list[Run]] = defaultdict(list)
    keys: dict[tuple[object, ...], str] = {}
    for run in sorted(runs, key=lambda run: run.id):
        # Runs of one command have most settings as the same objects, and the key need not be spelled for each of them.
        same = (*run.science, *(id(value) for key, value in run.science.items() if key not in SEEDS), id(run.targets))
        if same not in keys:
            keys[same] = run.structure()
        groups[keys[same], (widest or {}).get(run.id)].append(run)
    costs: dict[str, Cost] = {}
    cuts: list[_Cut] = []
    for (key, most), alike in groups.items():
        if key not in costs:
            costs[key] = cost_of(alike[0])
        cuts.append(_cut(alike, costs[key], mode_of(alike[0], costs[key]), kind, calibration, memory, most))
    while sum(cut.packs for cut in cuts) < min(workers, len(runs)):
        largest = max(range(len(cuts)), key=lambda at: (cuts[at].widest, cuts[at].cost.updates))
        cuts[largest] = replace(cuts[largest], packs=cuts[largest].packs + 1)
    packs = [_pack(cut, part, kind, calibration, taken) for cut in cuts for part in evenly(cut.runs, cut.packs)]
    return sorted(packs, key=lambda pack: (-pack.seconds, pack.id))


def _bytes_in(cost: Cost, kind: str, calibration: Calibration) -> int:
    """What a run takes of the memory that packs on a device kind share; a GPU's is not the host's."""
    host = cost.host_bytes if kind.startswith("cpu") else 0
    return calibration.of(cost.speed).bytes(cost.device_bytes) + host


def _cut(
    runs: Sequence[Run], cost: Cost, mode: str, kind: str, calibration: Calibration, memory: int, most: int | None
) -> _Cut:
    """Runs that agree in structure, cut so that each part fits.  most: as many as a part may have; None for any."""
    alone = _bytes_in(cost, kind, calibration)
    if alone > memory:
        shares = [*cost.memory, *(cost.host_memory if kind.startswith("cpu") else ())]
        largest = max(shares, key=lambda share: share.bytes)
        raise TooLarge(
            alone,
            f"Run {runs[0].id} needs {in_bytes(alone)} alone, most of it for {largest.what}, and a pack may use "
            f"{in_bytes(memory)} on {kind}; choose {largest.smaller} or another device.",
        )
    wanted = min(calibration.of(cost.speed).widest(mode), most or len(runs))
    width = min(wanted, memory // alone)
    narrowed = width < min(wanted, len(runs))
    return _Cut(runs, cost, alone, mode, -(-len(runs) // width), narrowed)


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
