"""Files of trained parameters, from finished runs and from task ends, and of the statistics that scale observations.

The setting `save_weights` decides which of these files a run has.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from plasticity_lab.records.damage import read_file, seal, tensors_of, write_file
from plasticity_lab.records.record import checked_content, read_record
from plasticity_lab.records.record_facts import RERUN, CorruptRecord, keeps_statistics, keeps_weights, seals_of
from plasticity_lab.records.store import TASK_WEIGHTS, Store


class TaskWeights(NamedTuple):
    """The tensors kept at a task's end: for a pack each with the run axis (K, ...), for a run without.

    parameters: by name. probe: the inputs of diagnostics, if they cannot be computed again; of_all: its part that all
    runs share, which never has a run axis. moments: the optimizer's, "<moment> <parameter>", and their number of
    "updates", if the setting `save_moments` asks for them.
    """

    parameters: Mapping[str, Tensor]
    probe: Mapping[str, Tensor]
    of_all: Mapping[str, Tensor]
    moments: Mapping[str, Tensor] = {}

    def of(self, k: int) -> "TaskWeights":
        """The weights of run k of a pack."""
        parameters = {name: value[k] for name, value in self.parameters.items()}
        moments = {name: value[k] for name, value in self.moments.items()}
        return TaskWeights(parameters, {name: value[k] for name, value in self.probe.items()}, self.of_all, moments)


def write_task_weights(store: Store, run: str, task: int, weights: TaskWeights) -> dict[str, int]:
    """Writes one run's weights of a task's end, before its record.

    Returns the seal for the record (see `damage.seal`).  Raises StoreError.
    """
    return _write(store.task_weights(run, task), _nested(weights))


def write_pack_weights(store: Store, pack: str, task: int, weights: TaskWeights) -> None:
    """Writes a pack's weights of a task's end.  Raises StoreError."""
    _write(store.pack_weights(pack, task), _nested(weights))


def read_pack_weights(store: Store, pack: str, task: int) -> TaskWeights:
    """A pack's weights of a task's end, on the CPU.  Raises StoreError if they cannot be read."""
    path = store.pack_weights(pack, task)
    return _task_weights(path, read_file(path, RERUN))


def read_task_weights(store: Store, run: str, task: int) -> TaskWeights:
    """A run's weights of a task's end, on the CPU.

    Raises CorruptRecord; StoreError if the disk does not answer.
    """
    path = store.task_weights(run, task)
    return _task_weights(path, checked_content(store, run, path))


def tasks_kept(record: Mapping[str, Any]) -> list[int]:
    """The positions of the tasks with saved weights of a run, sorted."""
    stems = [Path(name).stem.removeprefix(TASK_WEIGHTS) for name in seals_of(record) if name.startswith(TASK_WEIGHTS)]
    return sorted(int(position) for position in stems if position.isdecimal())


def write_weights(store: Store, run: str, weights: Mapping[str, Tensor]) -> dict[str, int]:
    """Writes the parameters of one run, without a run axis, before its record.

    Returns the seal for the record (see `damage.seal`).  Raises StoreError.
    """
    return _write(store.weights(run), _on_cpu(weights))


def write_statistics(store: Store, run: str, statistics: Mapping[str, Tensor]) -> dict[str, int]:
    """Writes the statistics of one run (see `Agent.statistics`), as `write_weights` does parameters."""
    return _write(store.statistics(run), _on_cpu(statistics))


def read_weights(store: Store, run: str) -> dict[str, Tensor] | None:
    """The parameters of a run on the CPU, or None if none were kept.

    Raises CorruptRecord; StoreError if the disk does not answer.
    """
    record = read_record(store, run)
    return _read(store, run, "weights", store.weights(run), record is not None and keeps_weights(store, record))


def read_statistics(store: Store, run: str) -> dict[str, Tensor] | None:
    """The statistics of a run on the CPU; None if its record lists none.

    Raises CorruptRecord; StoreError if the disk does not answer.
    """
    record = read_record(store, run)
    if record is None or not keeps_statistics(record):
        return None
    return _read(store, run, "statistics", store.statistics(run), listed=True)


def _on_cpu(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    # Copies: a slice would write the storage of the whole pack into the file.
    return {name: value.detach().cpu().clone() for name, value in tensors.items()}


def _nested(weights: TaskWeights) -> dict[str, dict[str, Tensor]]:
    return {part: _on_cpu(tensors) for part, tensors in weights._asdict().items()}


def _write(path: Path, content: dict[str, Any]) -> dict[str, int]:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_file(path, buffer.getvalue())
    return seal(buffer.getvalue())


def _task_weights(path: Path, content: bytes | None) -> TaskWeights:
    if content is None:
        raise CorruptRecord(path, "is missing", RERUN)
    try:
        return TaskWeights(**{part: dict(values) for part, values in tensors_of(content).items()})
    except (ValueError, TypeError) as error:
        raise CorruptRecord(path, f"does not hold weights that can be read: {error}", RERUN) from error


def _read(store: Store, run: str, what: str, path: Path, listed: bool) -> dict[str, Tensor] | None:
    """what: the kind of tensors, for messages. listed: whether the run's record lists the file."""
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
