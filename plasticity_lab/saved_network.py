"""A trained network out of the store, for those who want to look into it: `load_network(store, run)`.

    from plasticity_lab.records.store import Store
    from plasticity_lab.saved_network import load_network

    network = load_network(Store("store"), "0123456789ab")   # trained with save_weights=final
    logits = network(pixels)                                  # (B, C·H·W) floats as the benchmark normalises them

Legend: K runs (here one), B examples, D pixels (C·H·W), O classes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from plasticity_lab.assembly import model_of
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import load_images, source_named
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

    def __call__(self, x_BD: Tensor) -> Tensor:
        """Logits (B, O) in evaluation mode, of pixels (B, D) as the run's `benchmark.normalise` makes them."""
        return self.units(x_BD)[0]

    def units(self, x_BD: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits (B, O), and what the activations give by unit name, (B, units) or (B, C, H, W)."""
        shape = on_run_axis(self.model.activations)
        logits, hidden = self.model.forward(self.parameters, shape, x_BD.unsqueeze(0), None)
        return logits[0], {name: value[0] for name, value in hidden.items()}


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
    model = model_of([found], _images_like(found.science["benchmark"]["source"]))
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


def _images_like(source: str) -> ImageSet:
    """Images of the right shape and number of classes, without their files where those are not needed."""
    outline = source_named(source).outline
    return outline() if outline is not None else load_images(source, data_folder(None))
