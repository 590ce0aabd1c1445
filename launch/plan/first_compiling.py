"""The time that workers compile before they train, because their machine does not have that code yet.

Costs of runs do not contain it: the next runs of that structure find the code on the disk. After training a pack,
a worker leaves a mark next to its graphs, for later plans.
"""

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launch.plan.compiling import workers_folder
from launch.plan.device import cores, devices, kind_of
from launch.plan.makespan import makespan
from launch.wording import in_time
from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.kinds import is_cpu
from plasticity_lab.records.plan import Pack
from plasticity_lab.run import Run

PART_SECONDS = {
    "linear": 8.1,
    "linear_adam": 6.5,
    "linear_gradients": 5.2,
    "conv": 9.2,
    "linear_sgd": 6.7,
    "pool": 2.6,
    "softmax": 2.5,
    "pixels": 2.2,
}
"""CPU seconds of the C++ compiler for each of `kernels.operators.PARTS` (docs/speed.md)."""


@dataclass(frozen=True)
class GraphSeconds:
    """Seconds to compile a pack's graphs. first: in a new process, which imports the compiler. further: later."""

    first: float
    further: float


GRAPHS_ON_CPU = {"dense": GraphSeconds(20.8, 6.0), "convolving": GraphSeconds(37.8, 19.0)}
GRAPHS_ON_GPU = {"dense": GraphSeconds(17.0, 7.0), "convolving": GraphSeconds(32.0, 20.0)}
"""By yardstick, as docs/speed.md has them: a CPU of Zen 4, and an H200."""
CONVOLVING = ("convolving", "boards")


@dataclass(frozen=True)
class FirstCompiling:
    """seconds: wall clock until all code is compiled. where: "on this machine"."""

    seconds: float
    where: str

    def words(self, trained: float) -> str:
        """About it, to be said behind a time that contains it; empty if nothing is compiled.

        trained: seconds of the training. If compiling takes longer, the words name the mode without it.
        """
        if not self.seconds:
            return ""
        way_out = "; mode=eager needs no compiling" if self.seconds > trained else ""
        return f", including {in_time(self.seconds)} to compile, once {self.where}{way_out}"


def first_compiling(
    packs: Sequence[Pack], runs: Mapping[str, Run], cost_of: Callable[[Run], Cost], workers: int, kind: str | None
) -> FirstCompiling:
    """The time that workers of a device kind need for code that is missing there.

    Only this machine's folder is known. For any other machine, and if kind is None, all code counts as missing, and
    a worker has one core.
    """
    compiled = [pack for pack in packs if pack.mode != "eager"]
    if not compiled:
        return FirstCompiling(0.0, "")
    here = kind is not None and kind in map(kind_of, ["cpu", *devices("auto")])
    costs: dict[Path, tuple[Pack, Cost]] = {}
    for pack in compiled:
        run = runs[pack.runs[0]]
        costs.setdefault(mark_of(run, pack), (pack, cost_of(run)))
    parts = sorted({part for pack, cost in costs.values() if pack.mode == "kernels" for part in cost.kernel_parts})
    seconds = _parts_seconds([part for part in parts if not (here and _is_there(part))], cores() if here else 1)
    missing = [known for mark, known in costs.items() if not (here and mark.exists())]
    where = "on this machine" if here else "on each kind of machine"
    return FirstCompiling(seconds + _graphs_seconds(missing, workers), where)


def mark_of(run: Run, pack: Pack) -> Path:
    """The mark of a pack's graphs.  It is another one if its runs' structure, its mode or width, or the code differ."""
    import torch

    from plasticity_lab.agents.graphs import code_version
    from plasticity_lab.kernels.build import OWN

    made_from = run.structure(), pack.mode, pack.width, pack.kind, code_version(), sys.version, torch.__version__
    return workers_folder() / OWN / f"{hashlib.sha256(repr(made_from).encode()).hexdigest()}.trained"


@contextlib.contextmanager
def marked_as_compiled(run: Run, pack: Pack) -> Iterator[None]:
    """Around a pack's whole training. If the disk has all graphs afterwards, it leaves the mark.

    A mark that is missing costs nothing: a later plan only counts these graphs again.
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


def _is_there(part: str) -> bool:
    from plasticity_lab.kernels.build import OWN, library_of

    return library_of(part, workers_folder() / OWN).exists()


def _parts_seconds(parts: Sequence[str], cores: int) -> float:
    """Wall clock of the C++ compiler: parts are compiled side by side on the cores."""
    return makespan([0.0] * cores, sorted((PART_SECONDS[part] for part in parts), reverse=True))


def _graphs_seconds(missing: Sequence[tuple[Pack, Cost]], workers: int) -> float:
    """Wall clock of workers that each compile the graphs of their packs."""
    seconds = [_of_graphs(pack, cost) for pack, cost in missing]
    seconds.sort(key=lambda each: each.first, reverse=True)
    each = [known.first if place < workers else known.further for place, known in enumerate(seconds)]
    return makespan([0.0] * workers, each)


def _of_graphs(pack: Pack, cost: Cost) -> GraphSeconds:
    known = GRAPHS_ON_CPU if is_cpu(pack.kind) else GRAPHS_ON_GPU
    return known["convolving" if cost.speed in CONVOLVING else "dense"]
