"""A trained network out of the store, for those who want to look into it: `load_network(store, run)`.

    from plasticity_lab.records.store import Store
    from plasticity_lab.saved_network import load_network

    network = load_network(Store("store"), "0123456789ab")   # trained with save_weights=final
    logits = network(pixels)["logits"]                        # (B, C·H·W) floats as the benchmark normalises them

Legend: K runs (here one), B examples, D numbers of an example (C·H·W pixels), O numbers of an output.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from plasticity_lab.assembly import model_of
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import StoreError
from plasticity_lab.networks.model import Model
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import run_of
from plasticity_lab.records.weights import read_weights
from plasticity_lab.run import Run
from plasticity_lab.stacking.run_axis import on_run_axis


@dataclass(frozen=True)
class SavedNetwork:
    """One run's network as it was at the end of its training.

    parameters: name → (1, ...), with a run axis of one. assumed: whether the record is older than the classes it should
    name, so that those of today's conf/ were taken.
    """

    run: Run
    model: Model
    parameters: dict[str, Tensor]
    assumed: bool

    def __call__(self, x_BD: Tensor) -> dict[str, Tensor]:
        """The outputs in evaluation mode, name → (B, O): a classifier's "logits".

        x: (B, D), pixels as the run's `benchmark.normalise` makes them.
        """
        return self.units(x_BD)[0]

    def units(self, x_BD: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The outputs, and what the activations give by unit name, (B, units) or (B, C, H, W)."""
        shape = on_run_axis(self.model.activations)
        outputs, hidden = self.model.forward(self.parameters, shape, x_BD.unsqueeze(0), None)
        return tuple({name: value[0] for name, value in each.items()} for each in (outputs, hidden))


def load_network(store: Store, run: str) -> SavedNetwork:
    """The network of a finished run with the weights that were saved.

    Raises StoreError where there is no record or no weights, or where they do not fit today's classes; ConfigError
    where a class is gone; DataError where the shape of the images is known from their files alone.
    """
    record = read_record(store, run)
    if record is None:
        raise StoreError(f"There is no record of run {run} in {store.root}.")
    weights = read_weights(store, run)
    if weights is None:
        raise StoreError(
            f"Run {run} has kept no weights; train it again with save_weights=final rerun=true, which keeps them."
        )
    found, assumed = run_of(record)
    benchmark: Benchmark = found.component("benchmark")
    model = model_of([found], benchmark.outline() or benchmark.resource(data_folder(None)))
    parameters = {name: value.unsqueeze(0) for name, value in weights.items()}
    wanted = {name: value.shape for name, value in model.start([0], torch.device("cpu")).items()}
    there = {name: value.shape for name, value in parameters.items()}
    if wanted != there:
        names = ", ".join(sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name)))
        raise StoreError(
            f"The weights of run {run} do not fit the network that its record tells of ({names}); the code has changed "
            f"since commit {record['provenance'].get('commit')}."
        )
    return SavedNetwork(found, model, parameters, assumed)
