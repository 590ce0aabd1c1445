"""The runs that an assay is tried on: finished runs of a store, with the weights that they kept at the ends of tasks.

Legend: K runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.acting.learner import ASSAY_ROWS
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.errors import StoreError
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import TaskWeights, read_task_weights, tasks_kept
from plasticity_lab.run import Run

LEARNED_WITH = "learned_with"
"""In the run of an assay: the address of the intervention of the run that it is about."""


@dataclass(frozen=True)
class FromStore:
    """The resource of an assay's run: the benchmark's, and the store with the weights."""

    own: Resource
    store: Store

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts of the benchmark's resource."""
        return self.own.facts

    @property
    def packages(self) -> Sequence[str]:
        """The packages of the benchmark's resource."""
        return self.own.packages


def with_store(resource: Resource, run: Run, store: Store) -> Resource:
    """The resource of a run; for the run of an assay with the store of the run that it is about.

    store: the folder with the records of the assay's own runs, in the store of the others (`Store.assays`).
    """
    return FromStore(resource, Store(store.root.parent)) if run.is_of_assay else resource


@dataclass(frozen=True)
class Kept:
    """Weights of K runs at the end of a task, for the network that diagnostics measure.

    parameters, probe: name → (K, ...). moments: kind → name → (K, ...), and counts (K), if they were kept.
    """

    parameters: dict[str, Tensor]
    probe: dict[str, Tensor]
    moments: dict[str, dict[str, Tensor]]
    counts: list[int]


def kept_after(store: Store, run: str, task: int) -> int:
    """The next task with kept weights of a run.  Raises StoreError after its last one."""
    record = read_record(store, run)
    later = [] if record is None else [each for each in tasks_kept(record) if each > task]
    if not later:
        raise StoreError(f"Run {run} has kept no weights after task {task + 1}.")
    return later[0]


def kept_of(store: Store, runs: Sequence[str], positions: Sequence[int], names: Sequence[str]) -> Kept:
    """The weights of K runs, each at the end of its task.  names: the parameters of the network.  Raises StoreError."""
    each = [read_task_weights(store, run, position) for run, position in zip(runs, positions, strict=True)]
    for run, own, position in zip(runs, each, positions, strict=True):
        if missing := [name for name in names if name not in own.parameters]:
            raise StoreError(
                f"The weights of run {run} at the end of task {position + 1} do not fit its network "
                f"({', '.join(missing[:3])}); the code has changed since they were kept."
            )
    parameters = {name: torch.stack([own.parameters[name] for own in each]) for name in names}
    probe = {name: torch.stack([own.probe[name] for own in each]) for name in each[0].probe}
    if ASSAY_ROWS in probe:
        probe["x"] = probe[ASSAY_ROWS]
    moments, counts = moments_of(each, names)
    return Kept(parameters, probe, moments, counts)


def moments_to_keep(network: PackedNetwork) -> dict[str, Tensor]:
    """The moments on the host, "<moment> <parameter>" → (K, ...), and their number of "updates", (K,)."""
    found = {f"{kind} {name}": value.cpu() for kind, of in network.moments.items() for name, value in of.items()}
    return {**found, "updates": torch.full((len(network.seeds),), network.state()["updates"])}


def moments_of(each: Sequence[TaskWeights], names: Sequence[str]) -> tuple[dict[str, dict[str, Tensor]], list[int]]:
    """The moments of runs, kind → name → (K, ...), and their counts (K); ({}, []) if a run kept none."""
    if not all(own.moments for own in each):
        return {}, []
    kinds = sorted({key.partition(" ")[0] for key in each[0].moments} - {"updates"})
    found = {
        kind: {name: torch.stack([own.moments[f"{kind} {name}"] for own in each]) for name in names
               if f"{kind} {name}" in each[0].moments}
        for kind in kinds
    }  # fmt: skip
    return found, [int(own.moments["updates"]) for own in each]
