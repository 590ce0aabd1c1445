"""The components of a pack by config group: one for all runs if they must be equal, K if they may differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from plasticity_lab.activations.activation import Activation
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.component import Component
from plasticity_lab.environments.processes.choice import ALONE, Processes
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.changing import change_of
from plasticity_lab.interventions.intervention import SECOND_BATCH, Intervention
from plasticity_lab.networks.encoder import headed
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.network import Network
from plasticity_lab.perturbations.perturbation import Perturbation
from plasticity_lab.records.own_classes import digests_of_classes
from plasticity_lab.run import Run, group_of
from plasticity_lab.stacking.optimizer import Optimizer

AnyBenchmark = TypeVar("AnyBenchmark", bound=Benchmark)
Kind = TypeVar("Kind", bound=Component)


@dataclass(frozen=True)
class Parts(Generic[AnyBenchmark]):
    """The components of K runs that agree in structure.

    components: group → the K components, one per run. They may differ in settings on the run axis.
    stream_seeds, init_seeds: one per run.
    structure: words for everything that the runs share, except for the benchmark. Packs with equal words are trained by
        the same functions of tensors. The words include a digest of the code of classes outside this package.
    processes: processes that may step the environments; no result depends on them.
    kernels: whether our own kernels compute linear layers (see `plasticity_lab.kernels`).
    observed: whether diagnostics measure the pack; no result depends on it.
    compressed: whether replay memories are compressed (`Settings.replay_memory_compressed`); no result depends on it.
    sharing: number of workers that share a GPU, and its memory; no result depends on it.
    """

    components: Mapping[str, Sequence[Component]]
    stream_seeds: Sequence[int]
    init_seeds: Sequence[int]
    structure: str
    processes: Processes = ALONE
    kernels: bool = False
    observed: bool = False
    compressed: str = "auto"
    sharing: int = 1

    def __contains__(self, group: object) -> bool:
        """Whether the runs have a component of that group. Runs that are older than the group have none."""
        return group in self.components

    def each(self, group: str, kind: type[Kind]) -> Sequence[Kind]:
        """The components of a group, one per run. Raises ConfigError if one is of another kind, or if the runs have
        none.
        """
        if group not in self.components:
            raise ConfigError(f"These runs have no {group}; the group is newer than they are.")
        found = self.components[group]
        if not all(isinstance(each, kind) for each in found):
            raise ConfigError(f"{group} is a {type(found[0]).__name__} here, and no {kind.__name__}.")
        return cast(Sequence[Kind], found)

    def one(self, group: str, kind: type[Kind]) -> Kind:
        """The first run's component of a group, for reading the structure that all runs share. Raises the same errors
        as `each`.
        """
        return self.each(group, kind)[0]

    def having(self, group: str, components: Sequence[Component]) -> "Parts[AnyBenchmark]":
        """The same parts with other components in a group."""
        return replace(self, components={**self.components, group: components})

    @property
    def benchmark(self) -> AnyBenchmark:
        """The benchmark, equal in all runs."""
        return cast(AnyBenchmark, self.components["benchmark"][0])

    @property
    def network(self) -> Network:
        """The network with its head and its change, equal in all runs.

        Raises ConfigError if the network does not take such a head, or if several interventions change it.

        Runs that are older than the config group `head` have none; the network then flattens.
        """
        network = cast(Network, self.components["network"][0])
        if "head" in self:
            head = self.one("head", Head)
            if isinstance(head, MoE) and "intervention" in self and self.interventions[0].prunes:
                head = head.with_pruning()
            network = headed(network, head)
        change = change_of(self.interventions[0]) if "intervention" in self else None
        return network if change is None else network.changed(change)

    @property
    def perturbation(self) -> Perturbation | None:
        """The perturbation of the runs; None if they are not perturbed."""
        found = self.one("perturbation", Perturbation) if "perturbation" in self else None
        return found if found is not None and found.perturbs else None

    @property
    def activations(self) -> Sequence[Activation]:
        """Each run's activation."""
        return cast(Sequence[Activation], self.components["activation"])

    @property
    def optimizers(self) -> Sequence[Optimizer]:
        """Each run's optimizer."""
        return cast(Sequence[Optimizer], self.components["optimizer"])

    @property
    def interventions(self) -> Sequence[Intervention]:
        """Each run's intervention; several are composed into one."""
        return cast(Sequence[Intervention], self.components["intervention"])

    def operations(self, size: int, forward: int) -> int:
        """Operations of an update in addition to its loss: the optimizer's beyond Adam's, and the intervention's own
        work and forward passes.

        size: parameters of the network. forward: operations of a forward pass of the batch.
        """
        optimizer, intervention = self.optimizers[0], self.interventions[0]
        return (optimizer.operations + intervention.operations) * size + intervention.forwards * forward

    @property
    def copies(self) -> int:
        """Memory of intervention and optimizer beyond one copy and two moments, in copies of all parameters."""
        return self.interventions[0].copies - 1 + self.optimizers[0].copies

    @property
    def numbers(self) -> int:
        """Float32 numbers of one run in the intervention's state that do not grow with the network."""
        return self.interventions[0].numbers

    @property
    def second(self) -> bool:
        """Whether every update has a second batch, for the intervention."""
        return SECOND_BATCH in self.interventions[0].requires

    @property
    def agents(self) -> Sequence[Component]:
        """Each run's agent."""
        return self.components["agent"]


def parts_of(
    runs: Sequence[Run],
    processes: Processes = ALONE,
    kernels: bool = False,
    observed: bool = False,
    compressed: str = "auto",
    sharing: int = 1,
) -> Parts:
    """The parts of runs that are equal except for seeds and `run_axis_settings`. Raises ConfigError."""
    groups = dict.fromkeys(map(group_of, runs[0].targets))
    structure = runs[0].structure(without=("benchmark", *runs[0].besides))
    # A class outside this package can affect a graph's results even if none of its code is in the graph.
    own = digests_of_classes(runs[0].trained_by)
    return Parts(
        {group: [run.component(group) for run in runs] for group in groups},
        [run.seed_of("stream_seed") for run in runs],
        [run.seed_of("init_seed") for run in runs],
        structure + (f", {own}" if own else "") + (", by our own kernels" if kernels else ""),
        processes,
        kernels,
        observed,
        compressed,
        sharing,
    )
