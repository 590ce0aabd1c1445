"""What a pack is made of: what its runs have alike, once, and what may differ between them, K times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plasticity_lab.activations.activation import Activation
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.component import Component
from plasticity_lab.environments.processes.choice import ALONE, Processes
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.networks.network import Network
from plasticity_lab.run import Run
from plasticity_lab.stacking.optimizer import Optimizer


@dataclass(frozen=True)
class Parts:
    """The components of K runs that agree in structure.

    agents: those of the runs; they too may differ in what they put on the run axis. structure: in words, what the runs
    have alike apart from the benchmark: packs of equal words are trained by the same functions of tensors. processes:
    that may step their environments; no number depends on it. kernels: whether linear layers are computed by our own
    (see `plasticity_lab.kernels`). observed: whether diagnostics look at the pack; no number depends on it.
    """

    benchmark: Benchmark
    network: Network
    activations: Sequence[Activation]
    optimizers: Sequence[Optimizer]
    interventions: Sequence[Intervention]
    agents: Sequence[Component]
    stream_seeds: Sequence[int]
    init_seeds: Sequence[int]
    structure: str
    processes: Processes = ALONE
    kernels: bool = False
    observed: bool = False


def parts_of(runs: Sequence[Run], processes: Processes = ALONE, kernels: bool = False, observed: bool = False) -> Parts:
    """The parts of runs that agree in everything but seeds and `run_axis_settings`.  Raises ConfigError."""

    def each(group: str) -> list[Any]:
        return [run.component(group) for run in runs]

    return Parts(
        runs[0].component("benchmark"),
        runs[0].component("network"),
        each("activation"),
        each("optimizer"),
        each("intervention"),
        each("agent"),
        [run.seed_of("stream_seed") for run in runs],
        [run.seed_of("init_seed") for run in runs],
        runs[0].structure(without=("benchmark",)) + (", by our own kernels" if kernels else ""),
        processes,
        kernels,
        observed,
    )
