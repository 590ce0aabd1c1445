"""The time of the first compilation, which the costs of runs exclude.

Later runs of the same structure find the code on the disk. After training a pack, a worker writes a mark next to its
graphs. Later plans read these marks.
"""

import contextlib
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launch.plan.device import cores, devices, kind_of, workers_folder
from launch.plan.speed import COMPILING, USUAL, makespan
from launch.wording import in_time
from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.kinds import is_cpu
from plasticity_lab.records.plan import Pack
from plasticity_lab.run import Run

LENGTHS = ("tasks", "environment_steps")
"""Settings of a benchmark that change no shape, and so no graph."""


@dataclass(frozen=True)
class FirstCompiling:
    """The first compilation.

    seconds: wall-clock time until all code is compiled. where: such as "on this machine". lack: the missing code, such
    as "graphs".
    """

    seconds: float
    where: str
    lack: str = ""

    def words(self, trained: float) -> str:
        """Words that follow a time in a sentence and say which part of it is compilation; empty without compilation.

        trained: seconds of training. If compiling takes longer, the words name the mode that compiles nothing.
        """
        if not self.seconds:
            return ""
        way_out = "; mode=eager needs no compiling" if self.seconds > trained else ""
        return f", including {in_time(self.seconds)} to compile {self.lack}, once {self.where}{way_out}"


def first_compiling(
    packs: Sequence[Pack],
    runs: Mapping[str, Run],
    cost_of: Callable[[Run], Cost],
    workers: int,
    kind: str | None,
    compilers: int | None = None,
) -> FirstCompiling:
    """The time that workers of a device kind need to compile missing code.

    Only this machine's folder can be checked. For any other kind of device, and if kind is None, all code counts as
    missing, and the estimate assumes one core.
    compilers: number of kernels' parts that are compiled at once; None: one for each core.
    """
    compiled = [pack for pack in packs if pack.compiled]
    if not compiled:
        return FirstCompiling(0.0, "")
    from plasticity_lab.kernels.build import OWN, library_of  # torch

    here = kind is not None and kind in map(kind_of, ["cpu", *devices("auto")])
    costs: dict[Path, tuple[Pack, Cost]] = {}
    for pack in compiled:
        run = runs[pack.runs[0]]
        costs.setdefault(mark_of(run, pack), (pack, cost_of(run)))
    parts = {part for pack, cost in costs.values() if pack.kernels for part in cost.kernel_parts}
    if here:
        parts = {part for part in parts if not library_of(part, workers_folder() / OWN).exists()}
    # The cores compile the parts in parallel.
    compilers = compilers or (cores() if here else 1)
    of_parts = sorted((COMPILING["parts"][part] for part in parts), reverse=True)
    seconds = makespan([0.0] * compilers, of_parts)
    known = [each for mark, each in costs.items() if needs_graphs(*each) and not (here and mark.exists())]
    missing = [_graph_seconds(*each) for each in known]
    by_pack = [each[place >= workers] for place, each in enumerate(sorted(missing, reverse=True))]
    where = "on this machine" if here else "on each kind of machine"
    lack = " and ".join([*(["kernels"] if parts else []), *(["graphs"] if missing else [])])
    words = f"{lack} that are not there" if here else lack
    return FirstCompiling(seconds + makespan([0.0] * workers, by_pack), where, words)


def needs_graphs(pack: Pack, cost: Cost) -> bool:
    """Whether torch's compiler compiles anything for a pack."""
    return pack.compiled and _graphs(pack, cost) > 0


def _graphs(pack: Pack, cost: Cost) -> float:
    by_kernels = cost.graphs_by_kernels if pack.kernels else None
    return cost.graphs if by_kernels is None else by_kernels


def _graph_seconds(pack: Pack, cost: Cost) -> tuple[float, float]:
    """Seconds to compile the graphs of a pack in a new process, and later in the same process."""
    on_cpu = "graphs_by_kernels" if pack.kernels else "graphs_on_cpu"
    table = COMPILING[on_cpu if is_cpu(pack.kind) else "graphs_on_gpu"]
    names = cost.priced_as, cost.speed, USUAL
    size = cost.graph_size_by_kernels if pack.kernels else cost.graph_size
    each = _graphs(pack, cost) * size * next(table[name] for name in names if name in table)
    return table["first"] + each, each


def mark_of(run: Run, pack: Pack) -> Path:
    """The path of the mark of a pack's graphs.

    It depends on the runs' structure without LENGTHS, mode, width, kind of device, code, and versions of Python and
    torch.
    """
    import torch

    from plasticity_lab.agents.graphs import code_version
    from plasticity_lab.kernels.build import OWN

    structure, targets = json.loads(run.structure())
    for length in LENGTHS:
        structure.get("benchmark", {}).pop(length, None)
    made_from = structure, targets, pack.mode, pack.width, pack.kind, code_version(), sys.version, torch.__version__
    return workers_folder() / OWN / f"{hashlib.sha256(repr(made_from).encode()).hexdigest()}.trained"


@contextlib.contextmanager
def marked_as_compiled(run: Run, pack: Pack) -> Iterator[None]:
    """Around a pack's whole training. Writes the mark if the disk has all graphs afterwards.

    A missing mark is harmless: a later plan only counts these graphs again.
    """
    from plasticity_lab.agents import graphs

    before = graphs.not_kept()
    yield
    if not pack.compiled or graphs.not_kept() != before:
        return
    mark = mark_of(run, pack)
    with contextlib.suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
