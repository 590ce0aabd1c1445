"""The trained parameters of a finished run, kept where `save_weights` asks for them."""

import io
from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.records.files import read, write_atomically
from plasticity_lab.records.store import Store


def write_weights(store: Store, run: str, weights: Mapping[str, Tensor]) -> None:
    """Writes the parameters of one run, without a run axis, before its record.  Raises StoreError."""
    # A slice would drag the storage of the whole pack into the file.
    own = {name: value.detach().cpu().clone() for name, value in weights.items()}
    write_atomically(store.weights(run), lambda file: torch.save(own, file))


def read_weights(store: Store, run: str) -> dict[str, Tensor] | None:
    """The parameters of a run on the CPU, or None if none were kept.  Raises StoreError."""
    content = read(store.weights(run))
    return None if content is None else torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
