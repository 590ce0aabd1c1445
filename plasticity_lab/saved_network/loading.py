"""Loads the network of a run from its record: `load_network(store, run)`."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.agents.ppo.agent import PPO
from plasticity_lab.agents.ppo.normalise import Normaliser, normalisers_from
from plasticity_lab.assembly import model_of
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import StoreError
from plasticity_lab.networks.model import Model
from plasticity_lab.records.lookup import run_named, store_of
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import FINISHED
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import run_of
from plasticity_lab.records.weights import read_statistics, read_weights
from plasticity_lab.run import Run
from plasticity_lab.saved_network.classifier import SavedClassifier
from plasticity_lab.saved_network.network import SavedNetwork
from plasticity_lab.saved_network.policy import SavedPolicy

CPU = torch.device("cpu")


def load_network(store: Store | str | os.PathLike[str], run: str, data: str | Path | None = None) -> SavedNetwork:
    """The network of a finished run with its saved weights: a `SavedClassifier` if its benchmark has labelled images, a
    `SavedPolicy` if its agent is PPO; for SAC the first critic, on images the actor.

    store: a Store, or the path of its folder. run: an id, or a beginning that no other id shares. data: the folder of
    data sets; None: the default. Data files are read only if a result needs them.

    Raises StoreError if the run has no record or no weights, or if they do not fit the current classes; CorruptRecord,
    a subclass, if a file is damaged; ConfigError if a class does not exist any more; DataError if the shape of the
    images is only in missing data files.
    """
    store = store_of(store)
    record = read_record(store, run_named(store, run))
    if record is None:
        raise StoreError(f"There is no record of run {run} in {store.root}: it was set aside, or is being written.")
    found, assumed = run_of(record)
    weights = _weights(store, record)
    folder = data_folder(None if data is None else str(data))
    benchmark = found.component("benchmark", Benchmark)
    resource = benchmark.outline() or benchmark.resource(folder)
    model = model_of([found], resource)
    agent = found.component("agent", Agent)
    parameters = _fitting(model, weights, record, agent.of_no_network)
    common = (found, model, parameters, assumed, record["status"])
    if isinstance(benchmark, LabelledBenchmark):
        return SavedClassifier(*common, benchmark, folder)
    if isinstance(agent, PPO) and isinstance(benchmark, BodyBenchmark):
        normalisers = _normalisers(store, found, agent, resource)
        return SavedPolicy(*common, agent, benchmark, normalisers, _packed(found, model, parameters))
    return SavedNetwork(*common)


def _weights(store: Store, record: Mapping[str, Any]) -> dict[str, Tensor]:
    """Raises StoreError if the run has kept none."""
    run = record["run"]
    weights = read_weights(store, run)
    if weights is not None:
        return weights
    if record["status"] not in FINISHED:
        raise StoreError(f"Run {run} has failed, and left no weights; its command with save_weights=final tries again.")
    raise StoreError(
        f"Run {run} has kept no weights; train it again with save_weights=final rerun=true, which keeps them."
    )


def _fitting(
    model: Model, weights: Mapping[str, Tensor], record: Mapping[str, Any], of_no_network: Collection[str]
) -> dict[str, Tensor]:
    """The weights with a run axis of one; if the agent has several networks, only the weights of the model.

    of_no_network: see `Agent`. Raises StoreError if they do not fit the model.
    """
    own = f"{model.prefix}." if model.prefix else ""
    parameters = {
        name: value.unsqueeze(0)
        for name, value in weights.items()
        if name.startswith(own) and name not in of_no_network
    }
    wanted = {name: (value.shape, value.dtype) for name, value in model.start([0], CPU).items()}
    there = {name: (value.shape, value.dtype) for name, value in parameters.items()}
    if wanted != there:
        names = ", ".join(sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name)))
        raise StoreError(
            f"The weights of run {record['run']} do not fit the network that its record describes ({names}); the code "
            f"has changed since commit {record['provenance'].get('commit')}."
        )
    return parameters


def _normalisers(store: Store, run: Run, agent: PPO, bodies: Bodies) -> dict[str, Normaliser] | None:
    """Body → its statistics; None if the run was scaled, but is older than files of statistics."""
    kept = read_statistics(store, run.id)
    if kept is None and agent.scales:
        return None
    try:
        return normalisers_from(kept or {}, bodies.by_name, agent.scales)
    except StoreError as error:
        raise StoreError(f"The statistics of run {run.id} do not fit its record. {error}") from error


def _packed(run: Run, model: Model, parameters: dict[str, Tensor]) -> PackedNetwork:
    """The network in the form of the training. It shares its tensors with the saved network: changes affect both."""
    packed = PackedNetwork(parts_of([run]), model, CPU)
    packed.parameters = parameters
    return packed
