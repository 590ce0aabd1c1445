"""The time of a whole command: training, compiling and starting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launch.plan.first_compiling import FirstCompiling, first_compiling, needs_graphs
from launch.plan.planner import CostOf, Resources
from launch.plan.speed import STARTING, makespan
from plasticity_lab.records.plan import Pack
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Forecast:
    """Estimated wall-clock seconds of a command.

    training: until the last pack ends. starting: everything else that is neither training nor compiling. compiling: the
    code that the disk lacks.
    """

    training: float
    starting: float
    compiling: FirstCompiling

    @property
    def seconds(self) -> float:
        """The whole time."""
        return self.training + self.starting + self.compiling.seconds

    @property
    def words(self) -> str:
        """Words about compiling, after the whole time; empty without compiling."""
        return self.compiling.words(self.training)


def forecast(
    packs: Sequence[Pack],
    runs: Mapping[str, Run],
    cost_of: CostOf,
    workers: int,
    resources: Resources,
    compilers: int | None = None,
) -> Forecast:
    """The time that `workers` workers take for all packs.  packs: at least one.  compilers: see `first_compiling`."""
    kind = resources.kind if resources.known else None
    compiling = first_compiling(packs, runs, cost_of, workers, kind, compilers)
    graphs = any(needs_graphs(pack, cost_of(runs[pack.runs[0]])) for pack in packs)
    return Forecast(training_seconds(packs, workers), starting_seconds(len(packs), workers, graphs), compiling)


def training_seconds(packs: Sequence[Pack], workers: int) -> float:
    """Wall-clock seconds until `workers` workers have trained all packs.  packs: at least one."""
    return makespan([0.0] * min(workers, len(packs)), [pack.seconds for pack in packs])


def starting_seconds(packs: int, workers: int, graphs: bool) -> float:
    """Seconds of a command besides training and compiling: imports, graphs from the disk, and assembly of packs.

    graphs: whether a worker loads graphs of torch's compiler from the disk.
    """
    of_worker = STARTING["worker"] + STARTING["graphs"] * graphs
    return STARTING["command"] + of_worker + STARTING["pack"] * -(-packs // workers)
