"""The trained parameters of a finished run, those of its task ends too, and what scales its observations, where
`save_weights` asks for them.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from plasticity_lab.records.damage import read_file, seal, write_file
from plasticity_lab.records.kept_files import RERUN, CorruptRecord, keeps_statistics, keeps_weights, seals_of
from plasticity_lab.records.record import checked_content, read_record
from plasticity_lab.records.store import TASK_WEIGHTS, Store
from plasticity_lab.records.tensors import save_tensors, tensors_of


class TaskWeights(NamedTuple):
    """What is kept when a task ends: of a pack each with the run axis (K, ...), of a run without.

    parameters: by name. probe: what diagnostics look at, where nobody could find it again; of_all: that of it which all
    runs have alike, and which never has a run axis.
    """

    parameters: Mapping[str, Tensor]
    probe: Mapping[str, Tensor]
    of_all: Mapping[str, Tensor]

    def of(self, k: int) -> "TaskWeights":
        """Run k's, of a pack's."""
        parameters = {name: value[k] for name, value in self.parameters.items()}
        return TaskWeights(parameters, {name: value[k] for name, value in self.probe.items()}, self.of_all)


def write_task_weights(store: Store, run: str, task: int, weights: TaskWeights) -> dict[str, int]:
    """Writes what one run has kept of a task's end, before its record.

    Returns what the record keeps of it.  Raises StoreError.
    """
    return _write_nested(store.task_weights(run, task), weights)


def write_pack_weights(store: Store, pack: str, task: int, weights: TaskWeights) -> None:
    """The same of a pack, whose runs have no records yet.  Raises StoreError."""
    _write_nested(store.pack_weights(pack, task), weights)


def read_pack_weights(store: Store, pack: str, task: int) -> TaskWeights:
    """What a pack has kept.  Raises StoreError where it cannot be read."""
    path = store.pack_weights(pack, task)
    content = read_file(path, RERUN)
    if content is None:
        raise CorruptRecord(path, "is missing", RERUN)
    return _task_weights(path, content)


def read_task_weights(store: Store, run: str, task: int) -> TaskWeights:
    """What a run has kept of a task's end, on the CPU.

    Raises CorruptRecord; StoreError if the disk does not answer.
    """
    path = store.task_weights(run, task)
    content = checked_content(store, run, path)
    if content is None:
        raise CorruptRecord(path, "is missing", RERUN)
    return _task_weights(path, content)


def tasks_kept(record: Mapping[str, Any]) -> list[int]:
    """The positions of the tasks at whose ends a run has kept its parameters, in their order."""
    found = [Path(name).stem.removeprefix(TASK_WEIGHTS) for name in seals_of(record) if name.startswith(TASK_WEIGHTS)]
    return sorted(int(position) for position in found if position.isdecimal())


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
    write_file(path, written.getvalue())
    return seal(written.getvalue())


def _write_nested(path: Path, weights: TaskWeights) -> dict[str, int]:
    nested = {
        part: {name: value.detach().cpu().clone() for name, value in values.items()}
        for part, values in weights._asdict().items()
    }
    written = io.BytesIO()
    save_tensors(nested, written)
    write_file(path, written.getvalue())
    return seal(written.getvalue())


def _task_weights(path: Path, content: bytes) -> TaskWeights:
    try:
        found = tensors_of(content)
        return TaskWeights(**{part: dict(values) for part, values in found.items()})
    except (ValueError, TypeError) as error:
        raise CorruptRecord(path, f"does not hold weights that can be read: {error}", RERUN) from error


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
