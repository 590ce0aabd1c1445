"""Cuts runs into packs, and chooses their modes: a pure function that uses no clock, file or device.

A mode is chosen from the run's cost and the kind of device alone. So the same command gives the same numbers on the
same kind of device at any time. Neither the other runs of a pack nor a measurement on a busy machine changes a mode. A
user may set modes by name, in the command or by `python -m launch calibrate --set-mode`.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from launch.plan.device import NotCompiled
from launch.plan.speed import Calibration, deciding_speed, rule_of
from launch.wording import in_bytes, say
from plasticity_lab.agents.cost import Cost, frames_fit
from plasticity_lab.errors import ConfigError, PlanError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.identity import pack_id
from plasticity_lab.records.kinds import is_cpu
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.plan_lines import evenly
from plasticity_lab.run import SEEDS, Run


@dataclass(frozen=True)
class Choice:
    """The chosen mode.  mode: one of MODES. why: the reason in a few words, for a plan's table."""

    mode: str
    why: str


def choice_of(cost: Cost, kind: str, setting: str, uncompiled: NotCompiled | None, modes: Mapping[str, str]) -> Choice:
    """The mode of a run on a kind of device.

    setting: the command's `mode`. uncompiled: the reason why nothing can be compiled there; None if compiling works.
    modes: yardstick → the mode set by hand for the kind. If kernels cannot serve the run, it is compiled or eager; one
    line says so if the command named kernels.  Raises ConfigError if the command says compiled, and nothing can be
    compiled.
    """
    if setting == "compiled" and uncompiled:
        raise ConfigError(f"mode is compiled, but {uncompiled.sentence}; or say mode=eager.")
    if setting == "auto" and cost.speed not in modes:
        return _fastest(cost, kind, uncompiled)
    mode, why = (modes[cost.speed], "set by calibrate") if setting == "auto" else (setting, "as asked")
    if mode == "kernels" and (lack := _lack_of_kernels(cost, kind, uncompiled)) is not None:
        mode, why = "eager" if uncompiled else "compiled", lack.why
        if setting == "kernels":
            _say_once(f"mode=kernels: {lack.sentence}, so runs are {mode} there.")
    return Choice("eager", uncompiled.why) if mode == "compiled" and uncompiled else Choice(mode, why)


def _fastest(cost: Cost, kind: str, uncompiled: NotCompiled | None) -> Choice:
    """The fastest mode of one run, according to figures that no measurement changes."""
    if uncompiled:
        return Choice("eager", uncompiled.why)
    rule, speed = rule_of(kind, cost.speed), deciding_speed(kind, cost.speed)
    lack = _lack_of_kernels(cost, kind, uncompiled) if rule.mode == "kernels" else None
    mode, why = (rule.mode, "") if lack is None else ("compiled", lack.why)
    eager, fast = (speed.seconds(each, 1, cost.updates, cost.flops) for each in ("eager", mode))
    if eager - fast < rule.from_seconds:
        return Choice("eager", f"since compiled code would save under {rule.from_seconds:g} s a run")
    return Choice(mode, why or f"which saves {rule.from_seconds:g} s a run or more")


def _lack_of_kernels(cost: Cost, kind: str, uncompiled: NotCompiled | None) -> NotCompiled | None:
    """The reason why our kernels cannot serve the run; None if they can."""
    if uncompiled:
        return uncompiled
    if not is_cpu(kind):
        return NotCompiled("a GPU has no kernels", f"our kernels are for CPUs, and {kind} is none")
    if not cost.kernels:
        return NotCompiled("no kernels for its agent", "there are no kernels for some runs' agent")
    from plasticity_lab.kernels.build import missing  # torch

    return None if (reason := missing()) is None else NotCompiled("no kernels there", f"{reason} here")


@cache
def _say_once(line: str) -> None:
    say(line)


CostOf = Callable[[Run], Cost]
"""A function that returns the cost of a run."""


class TooLarge(PlanError):
    """A run that fits into no pack.  bytes: the memory that it needs. most: the memory that a pack may use."""

    def __init__(self, needed: int, most: int, sentence: str) -> None:
        super().__init__(sentence)
        self.bytes, self.most = needed, most


@dataclass(frozen=True)
class Resources:
    """The workers of a plan.

    kind: the kind of their devices; it decides modes and widths of packs. uncompiled: the reason why nothing can be
    compiled there; None if compiling works. memory: bytes that a pack may use on its device. workers: the smallest
    number of packs in the plan, if the plan has enough runs. damaged: a calibration that cannot be read. known: whether
    workers have exactly this kind; on a cluster they may have any kind of the same sort. host_memory: bytes of the
    host's memory that a pack may use, in addition to a GPU's; sys.maxsize if unknown.
    """

    kind: str
    calibration: Calibration
    uncompiled: NotCompiled | None
    memory: int
    workers: int
    damaged: Sequence[DamagedFile] = ()
    known: bool = True
    host_memory: int = sys.maxsize

    def choice(self, cost: Cost, setting: str) -> Choice:
        """The mode of a run on these devices, with the reason.  setting: the command's `mode`.  Raises ConfigError."""
        return choice_of(cost, self.kind, setting, self.uncompiled, self.calibration.modes)


@dataclass(frozen=True)
class _Cut:
    """Runs of one structure, to be cut into packs of one width, or of two widths that differ by one.

    Few widths save time: a compiled graph has one width, and a worker compiles each graph that it needs. packs: the
    number of packs. narrowed: whether the memory makes packs narrower.
    """

    runs: Sequence[Run]
    cost: Cost
    mode: str
    packs: int
    narrowed: bool

    @property
    def widest(self) -> int:
        return -(-len(self.runs) // self.packs)


def plan(
    runs: Sequence[Run],
    resources: Resources,
    cost_of: CostOf,
    mode_of: Callable[[Run, Cost], str],
    widest: Mapping[str, int] | None = None,
    taken: Callable[[str], bool] = lambda pack: False,
) -> list[Pack]:
    """Cuts runs into packs, long ones first.  The same runs in any order give the same packs.

    cost_of: called once for each group of runs that could share a pack. mode_of: (run, its cost) → its mode. widest:
    run → the largest allowed number of runs in its pack, for runs that failed before. taken: whether an earlier attempt
    used a pack's id.  Raises TooLarge that names a run that does not fit.
    """
    cuts = []
    for (_, most), similar in _groups(runs, widest or {}).items():
        cost = cost_of(similar[0])
        mode = mode_of(similar[0], cost)
        wanted = min(resources.calibration.of(cost.speed).widest(mode), most or len(similar))
        width = min(wanted, _fitting(similar[0], cost, resources))
        cuts.append(_Cut(similar, cost, mode, -(-len(similar) // width), narrowed=width < min(wanted, len(similar))))
    while sum(cut.packs for cut in cuts) < min(resources.workers, len(runs)):
        largest = max(range(len(cuts)), key=lambda at: (cuts[at].widest, cuts[at].cost.updates))
        cuts[largest] = replace(cuts[largest], packs=cuts[largest].packs + 1)
    packs = [_pack(cut, part, resources, taken) for cut in cuts for part in evenly(cut.runs, cut.packs)]
    return sorted(packs, key=lambda pack: (-pack.seconds, pack.id))


def widest_pack(run: Run, cost: Cost, mode: str, resources: Resources) -> int:
    """The largest possible number of runs like this one in a pack.  Raises TooLarge."""
    return min(resources.calibration.of(cost.speed).widest(mode), _fitting(run, cost, resources))


def _groups(runs: Sequence[Run], widest: Mapping[str, int]) -> dict[tuple[str, int | None], list[Run]]:
    """(structure, most runs of a pack or None) → the runs that could share a pack, sorted by id."""
    groups: dict[tuple[str, int | None], list[Run]] = defaultdict(list)
    structures: dict[tuple[object, ...], str] = {}
    for run in sorted(runs, key=lambda run: run.id):
        # Computing a structure is slow. Runs of one command share most settings as the same objects.
        same = (*run.science, *(id(value) for key, value in run.science.items() if key not in SEEDS), id(run.targets))
        same += tuple(map(id, run.besides.values()))
        if same not in structures:
            structures[same] = run.structure()
        groups[structures[same], widest.get(run.id)].append(run)
    return groups


def _fitting(run: Run, cost: Cost, resources: Resources) -> int:
    """The number of runs like this one that fit into a pack's memory.  Raises TooLarge if one run does not fit.

    On a CPU, only the host's memory counts. On a GPU, runs need the GPU's memory, and may also need the host's.
    """
    on_cpu = is_cpu(resources.kind)
    shares = [*cost.memory, *cost.host_memory] if on_cpu else cost.memory
    needs = [(_device_bytes(cost, resources), shares, resources.memory, f"on {resources.kind}")]
    if cost.host_bytes and not on_cpu:
        needs.append((cost.host_bytes, cost.host_memory, resources.host_memory, "in its machine's memory"))
    for needed, shares, most, where in needs:
        if needed > most:
            largest = max(shares, key=lambda share: share.bytes)
            raise TooLarge(
                needed,
                most,
                f"Run {run.id} needs {in_bytes(needed)} alone, most of it for {largest.what}, and a pack may use "
                f"{in_bytes(most)} {where}; choose {largest.smaller} or another device.",
            )
    return min(most // needed for needed, _, most, _ in needs)


def _device_bytes(cost: Cost, resources: Resources) -> int:
    """Bytes that one run takes on its device."""
    on_device = resources.calibration.of(cost.speed).bytes(cost.device_bytes)
    return on_device + cost.host_bytes if is_cpu(resources.kind) else on_device


def _bytes_of_pack(cost: Cost, resources: Resources, width: int) -> int:
    """Bytes that a pack of that width takes on its device, with its frames if a GPU holds them (`frames_fit`)."""
    needed, frames = _device_bytes(cost, resources) * width, cost.frames_bytes * width
    held = not is_cpu(resources.kind) and frames_fit(frames, resources.memory - needed)
    return needed + frames if held else needed


def _pack(cut: _Cut, runs: Sequence[Run], resources: Resources, taken: Callable[[str], bool]) -> Pack:
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
        kind=resources.kind,
        mode=cut.mode,
        steps=cost.length,
        unit=cost.unit,
        updates=cost.updates,
        bytes=_bytes_of_pack(cost, resources, len(ids)),
        seconds=resources.calibration.seconds(cost, cut.mode, len(ids)),
        narrowed=cut.narrowed,
    )
