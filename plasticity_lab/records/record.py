"""record.json and metrics.parquet: what a finished run leaves behind. Metrics first, so that a record implies them."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import disk_errors, names, read, write_atomically, write_json
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

FORMAT = 2
"""Records of format 1 did not keep `targets`; they are read as well, and stay as they are."""
STATUSES = ("done", "diverged", "failed")
FINISHED = ("done", "diverged")
"""The statuses of runs that are not trained again unless asked."""
_FIELDS = {"run", "status", "collapsed", "science", "asked_as", "provenance", "diagnostics", "summary", "error"}
_ASIDE = ".corrupt-"


class CorruptRecord(StoreError):
    """A file of a finished run that cannot be read; `path` names it and `run` the run."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}; it has to be set aside and its run trained again.")
        self.path = path
        self.run = path.parent.name


def new_record(
    run: Run,
    status: str,
    provenance: Mapping[str, Any],
    *,
    summary: Mapping[str, Any] | None = None,
    collapsed: bool = False,
    diagnostics: Sequence[str] = (),
    error: str | None = None,
    diverged_at_step: int | None = None,
) -> dict[str, Any]:
    """The record of a run that ended done, diverged or failed.

    diverged_at_step: the step, counted from 1, whose loss was the first that is not finite.  Raises ValueError for
    another status, and where error (of a failed run) or diverged_at_step (of a diverged one) contradicts it.
    """
    if status not in STATUSES:
        raise ValueError(f"The status is {status!r}; it must be one of {', '.join(STATUSES)}.")
    if (status == "failed") != (error is not None) or (status == "diverged") != (diverged_at_step is not None):
        raise ValueError(f"A {status} record has error {error!r} and diverged_at_step {diverged_at_step!r}.")
    record = {
        "format": FORMAT,
        "run": run.id,
        "status": status,
        "collapsed": collapsed,
        "science": run.science,
        "targets": dict(run.targets),
        "asked_as": list(run.asked_as),
        "provenance": dict(provenance),
        "diagnostics": list(diagnostics),
        "summary": dict(summary or {}),
        "error": error,
    }
    return record if diverged_at_step is None else record | {"diverged_at_step": diverged_at_step}


def write_record(store: Store, record: Mapping[str, Any]) -> None:
    """Writes a record made by `new_record`; the run's metrics must stand already.  Raises StoreError."""
    write_json(store.record(record["run"]), record)


def read_record(store: Store, run: str) -> dict[str, Any] | None:
    """The record of a run, or None if it has none.  Raises CorruptRecord; StoreError if the disk does not answer."""
    path = store.record(run)
    content = read(path)
    if content is None:
        return None
    try:
        record = json.loads(content)
    except ValueError as error:
        raise CorruptRecord(path, f"is not JSON ({error})") from error
    if not isinstance(record, dict) or record.get("format") not in (1, FORMAT):
        raise CorruptRecord(path, f"is of no format that this version of plasticity_lab reads, 1 to {FORMAT}")
    if missing := (_FIELDS if record["format"] == 1 else _FIELDS | {"targets"}) - record.keys():
        raise CorruptRecord(path, f"lacks {', '.join(sorted(missing))}")
    if record["run"] != run:
        raise CorruptRecord(path, f"is the record of another run, {record['run']}")
    if record["status"] not in STATUSES:
        raise CorruptRecord(path, f"has the status {record['status']!r}, which does not exist")
    return record


def failures(record: Mapping[str, Any] | None) -> int:
    """How often in turn the run of a record, if it has one, has failed."""
    failed = record is not None and record["status"] == "failed"
    return record["provenance"].get("failures", 1) if failed else 0


def all_records(store: Store) -> tuple[list[dict[str, Any]], list[CorruptRecord]]:
    """The good records of a store, ordered by run id, and what is wrong with each of the others.  Raises StoreError."""
    corrupt: list[CorruptRecord] = []
    return list(records_of(store, corrupt)), corrupt


def records_of(store: Store, corrupt: list[CorruptRecord]) -> Iterator[dict[str, Any]]:
    """The good records one by one, ordered by run id: a hundred thousand need not fit into memory together.

    What is wrong with each of the others is added to corrupt.  Raises StoreError.
    """
    for first in names(store.runs_folder):
        for run in names(store.runs_folder / first):
            try:
                record = read_record(store, run)
            except CorruptRecord as error:
                corrupt.append(error)
            else:
                yield from [record] if record else []


def add_asked_as(store: Store, run: str, asked: Iterable[Mapping[str, Any]]) -> None:
    """Adds the names under which a finished run was asked for again; without a record, or without news, does nothing.

    Of two that add at the same moment one may be lost: the next time it is asked for, it is added again.
    """
    record = read_record(store, run)
    if record is None:
        return
    known = record["asked_as"]
    new = [dict(name) for name in asked if name not in known]
    if new:
        write_record(store, record | {"asked_as": [*known, *new]})


def set_aside(store: Store, run: str) -> Path:
    """Renames everything in a run's folder to <name>.corrupt-<n> and returns the new path of its record.

    The run has no record then and will be trained again; nothing is deleted.  Raises StoreError.
    """
    folder = store.run_folder(run)
    present = names(folder)
    used = [int(number) for name in present if (number := name.rpartition(_ASIDE)[2]).isdigit() and _ASIDE in name]
    suffix = f"{_ASIDE}{max(used, default=0) + 1}"
    record = store.record(run)
    # The record first: once it is gone, the rest means nothing and will be written anew.
    for name in sorted((name for name in present if _ASIDE not in name), key=lambda name: name != record.name):
        with disk_errors("write", folder / name):
            os.replace(folder / name, folder / f"{name}{suffix}")
    return record.with_name(record.name + suffix)


def write_metrics(store: Store, run: str, table: pa.Table) -> None:
    """Writes the metrics of a run, before its record.  Raises StoreError."""
    write_atomically(store.metrics(run), lambda file: pq.write_table(table, file, compression="zstd"))


def read_metrics(store: Store, run: str) -> pa.Table | None:
    """The metrics of a run, or None if it has none.  Raises CorruptRecord; StoreError if the disk does not answer."""
    path = store.metrics(run)
    content = read(path)
    if content is None:
        return None
    try:
        return pq.read_table(pa.BufferReader(content), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise CorruptRecord(path, f"is not a complete Parquet file ({str(error).splitlines()[0]})") from error
