"""The trained parameters of a finished run, kept where `save_weights` asks for them."""

import io
from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.records.damage import seal
from plasticity_lab.records.files import write_atomically
from plasticity_lab.records.record import RERUN, CorruptRecord, checked_content
from plasticity_lab.records.store import Store
from plasticity_lab.records.tensors import save_tensors, tensors_of


def write_weights(store: Store, run: str, weights: Mapping[str, Tensor]) -> dict[str, int]:
    """Writes the parameters of one run, without a run axis, before its record.

    Returns what the record keeps of them.  Raises StoreError.
    """
    # A slice would drag the storage of the whole pack into the file.
    own = {name: value.detach().cpu().clone() for name, value in weights.items()}
    written = io.BytesIO()
    save_tensors(own, written)
    write_atomically(store.weights(run), written.getvalue())
    return seal(written.getvalue())


def read_weights(store: Store, run: str) -> dict[str, Tensor] | None:
    """The parameters of a run on the CPU, or None if none were kept.

    Raises CorruptRecord; StoreError if the disk does not answer.
    """
    path = store.weights(run)
    content = checked_content(store, run, path)
    if content is None:
        return None
    try:
        return tensors_of(content)
    except ValueError as error:
        raise CorruptRecord(path, f"does not hold weights that can be read: {error}", RERUN) from error
