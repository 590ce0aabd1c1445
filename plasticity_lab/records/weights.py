"""The trained parameters of a finished run, and what scales its observations, where `save_weights` asks for them."""

import io
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from plasticity_lab.records.damage import seal
from plasticity_lab.records.files import write_atomically
from plasticity_lab.records.kept_files import RERUN, CorruptRecord, keeps_statistics, keeps_weights
from plasticity_lab.records.record import checked_content, read_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.tensors import save_tensors, tensors_of


def write_weights(store: Store, run: str, weights: Mapping[str, Tensor]) -> dict[str, int]:
    """Writes the parameters of one run, without a run axis, before its record.

    Returns what the record keeps of them.  Raises StoreError.
    """
    return _write(store.weights(run), weights)


def write_statistics(store: Store, run: str, statistics: Mapping[str, Tensor]) -> dict[str, int]:
    """Writes the statistics of one run (see `Agent.statistics`), as `write_weights` does parameters."""
    return _write(store.statistics(run), statistics)


def read_weights(store: Store, run: str) -> dict[str, Tensor] | None:
    """The parameters of a run on the CPU, or None if none were kept.

    Raises CorruptRecord; StoreError if the disk does not answer.
    """
    record = read_record(store, run)
    return _read(store, run, "weights", store.weights(run), record is not None and keeps_weights(store, record))


def read_statistics(store: Store, run: str) -> dict[str, Tensor] | None:
    """The statistics of a run on the CPU; None if its record lists none: it has none, or is older than they.

    Raises CorruptRecord; StoreError if the disk does not answer.
    """
    record = read_record(store, run)
    if record is None or not keeps_statistics(record):
        return None
    return _read(store, run, "statistics", store.statistics(run), listed=True)


def _write(path: Path, tensors: Mapping[str, Tensor]) -> dict[str, int]:
    # A slice would drag the storage of the whole pack into the file.
    own = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    written = io.BytesIO()
    save_tensors(own, written)
    write_atomically(path, written.getvalue())
    return seal(written.getvalue())


def _read(store: Store, run: str, what: str, path: Path, listed: bool) -> dict[str, Tensor] | None:
    """what: it holds. listed: whether the run's record says that it is there."""
    content = checked_content(store, run, path)
    if content is None:
        if listed:
            raise CorruptRecord(path, "is missing", RERUN)
        return None
    try:
        tensors = tensors_of(content)
    except ValueError as error:
        raise CorruptRecord(path, f"does not hold {what} that can be read: {error}", RERUN) from error
    if not all(isinstance(value, Tensor) for value in tensors.values()):
        raise CorruptRecord(path, f"holds something else than {what} by their names", RERUN)
    return tensors
