"""record.json and metrics.parquet of a run. Metrics are written first: a run with a record has its metrics."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from plasticity_lab.errors import StoreError
from plasticity_lab.named_code import named_by_store
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.damage import (
    DamagedFile,
    NewFormat,
    OldFormat,
    fault_of_fields,
    is_aside,
    next_suffix,
    read_file,
    read_mapping,
    seal,
    write_file,
    write_mapping,
)
from plasticity_lab.records.files import disk_errors, names
from plasticity_lab.records.index_files import Outcome, add_line, digest, holds, marks_of
from plasticity_lab.records.lookup import recorded_runs
from plasticity_lab.records.record_facts import (
    ADVICE,
    DIGEST,
    FINISHED,
    RERUN,
    STOPPED,
    TRAINED_BEFORE,
    CorruptRecord,
    check_files,
    digest_of,
    failures,
    files_beside,
    flags_of,
    keeps_weights,
    pack_of,
    seals_allowed,
    seals_of,
)
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run, training_targets

FORMAT = 2
"""Records of format 1 did not keep `targets`; they are not read any more."""
STATUSES = ("done", "diverged", "failed", STOPPED)
_FIELDS = {
    "run": str,
    "status": str,
    "collapsed": bool,
    "science": dict,
    "asked_as": list,
    "provenance": dict,
    "diagnostics": list,
    "summary": dict,
    "error": str | None,
}


def new_record(
    run: Run,
    status: str,
    provenance: Mapping[str, Any],
    *,
    summary: Mapping[str, Any] | None = None,
    collapsed: bool = False,
    flags: Mapping[str, bool] | None = None,
    measures: Mapping[str, Any] | None = None,
    diagnostics: Sequence[str] = (),
    error: str | None = None,
    diverged_at_step: int | None = None,
    stopped_at_step: int | None = None,
    files: Mapping[str, Mapping[str, int]] | None = None,
    trained_before: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The record of a run that ended done, diverged, failed or stopped early.

    flags: flags of the run's agent, in addition to `collapsed`. measures: the declaration of its numbers, as
    `Declared.as_json` returns it; every finished run has it. diverged_at_step: the step, counted from 1, with the first
    loss that is not finite. stopped_at_step: the number of steps it was trained. files: name → size and checksum of its
    other files, as `write_metrics` and `write_weights` return them. trained_before: earlier trainings of the run, as
    `trainings_of` returns them.  Raises ValueError for another status, and if error (for failed), diverged_at_step (for
    diverged) or stopped_at_step (for stopped) contradicts the status.
    """
    if status not in STATUSES:
        raise ValueError(f"The status is {status!r}; it must be one of {', '.join(STATUSES)}.")
    details = {"failed": error, "diverged": diverged_at_step, STOPPED: stopped_at_step}
    if {each for each, value in details.items() if value is not None} != {status} - {"done"}:
        raise ValueError(f"A {status} record has error, diverged_at_step and stopped_at_step {[*details.values()]}.")
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
        "files": {name: dict(kept) for name, kept in (files or {}).items()},
    }
    optional = {
        "besides": run.besides or None,
        "flags": flags or None,
        "measures": measures,
        "diverged_at_step": diverged_at_step,
        "stopped_at_step": stopped_at_step,
        TRAINED_BEFORE: [*trained_before] or None,
    }
    record |= {key: value for key, value in optional.items() if value is not None}
    return record | {DIGEST: digest_of(record)}


def write_record(store: Store, record: Mapping[str, Any]) -> None:
    """Writes a record made by `new_record`, after the run's metrics.  Raises StoreError."""
    write_mapping(store.record(record["run"]), record)
    with contextlib.suppress(StoreError):  # readers complete the index
        # The outcome as a reader sees it: another process may have written a record at the same moment.
        if (outcome := outcome_of(store, record["run"])) is not None and outcome.marks:
            add_line(store, record["run"], outcome)


def read_record(store: Store, run: str) -> dict[str, Any] | None:
    """The record of a run, or None if it has none.

    Raises CorruptRecord; OldFormat for a whole one of format 1; NewFormat; StoreError if the disk does not answer.
    """
    path = store.record(run)
    try:
        record = read_mapping(path, ADVICE)
    except DamagedFile as error:
        raise CorruptRecord(path, error.reason) from error
    if record is None:
        return None
    if isinstance(format := record.get("format"), int) and format > FORMAT:
        raise NewFormat(path, "is a record", format, FORMAT)
    if fault := _fault(run, record):
        raise CorruptRecord(path, fault)
    if record["format"] == 1:
        raise OldFormat(path, "is a record of format 1")
    return record


def _fault(run: str, record: Mapping[str, Any]) -> str | None:
    """The fault of the content of a run's record; None if it has none."""
    if record.get("format") not in (1, FORMAT):
        return f"is of no format that this version of plasticity_lab reads, which is {FORMAT}"
    if fault := fault_of_fields(record, _FIELDS if record["format"] == 1 else _FIELDS | {"targets": dict}):
        return fault
    named_by_store(record.get("targets", {}).values())
    if record["run"] != run:
        return f"is the record of another run, {record['run']}"
    if record["status"] not in STATUSES:
        return f"has the status {record['status']!r}, which does not exist"
    if record["status"] == "diverged" and not isinstance(record.get("diverged_at_step"), int):
        return "lacks the step when its run diverged"
    if record["status"] == STOPPED and not isinstance(record.get("stopped_at_step"), int):
        return "lacks the step when its run was stopped"
    try:
        declared_in(record)
    except (KeyError, TypeError, ValueError, AttributeError):
        return "declares its numbers in a way that cannot be read"
    return None


def outcome_of(store: Store, run: str) -> Outcome | None:
    """How a run ended, by its record and its files; None if it has no record.

    Raises as `read_record` and `check_files`.
    """
    folder = str(store.run_folder(run))
    # Marks before reading: if the file is replaced while it is read, they are not the new file's marks.
    marks = marks_of(folder, ["record.json"])
    record = read_record(store, run)
    if record is None:
        return None
    source = record["provenance"]
    targets = training_targets(record["targets"], record.get("besides", {}))
    outcome = Outcome(
        status=record["status"],
        flags=flags_of(record),
        diverged_at_step=record.get("diverged_at_step"),
        failures=failures(record),
        pack=pack_of(record),
        width=source.get("width"),
        pack_seconds=source.get("pack_seconds"),
        kind=source.get("device"),
        keeps_weights=record["status"] in FINISHED and keeps_weights(store, record),
        classes=None if record.get("targets_assumed") else digest(targets),
        names=[digest(name) for name in record["asked_as"]],
        marks=[],
    )
    files = files_beside(store, record)
    marks += marks_of(folder, files[1:])
    check_files(store, record)
    if (outcome.status in FINISHED and not seals_of(record)) or not holds(folder, files, marks):
        return outcome  # a record that lists no files is read each time
    return outcome._replace(marks=marks)


def checked_content(store: Store, run: str, path: Path) -> bytes | None:
    """The content of a file of a run; None if it does not exist.

    Raises CorruptRecord if its checksum is not the one in the run's record; StoreError if the disk does not answer.
    """
    try:
        content = read_file(path, ADVICE)
    except DamagedFile as error:
        raise CorruptRecord(path, error.reason) from error
    if content is not None and (record := read_record(store, run)) is not None:
        allowed = seals_allowed(record, path.name)
        if allowed and seal(content) not in allowed:
            raise CorruptRecord(path, "was changed after it was written: its checksum differs", RERUN)
    return content


def all_records(store: Store) -> tuple[list[dict[str, Any]], list[CorruptRecord]]:
    """The good records of a store, ordered by run id, and the errors of the others.  Raises StoreError."""
    corrupt: list[CorruptRecord] = []
    return list(records_of(store, corrupt)), corrupt


def records_of(store: Store, corrupt: list[CorruptRecord]) -> Iterator[dict[str, Any]]:
    """The good records one by one, ordered by run id: a hundred thousand need not fit into memory together.

    Adds the errors of the other records to `corrupt`.  Raises StoreError.
    """
    for run in recorded_runs(store):
        try:
            record = read_record(store, run)
        except CorruptRecord as error:
            corrupt.append(error)
        else:
            yield from [record] if record else []


def add_asked_as(store: Store, run: str, asked: Iterable[Mapping[str, Any]]) -> None:
    """Adds the names of a later request for a finished run; does nothing without a record or a new name.

    If two processes add names at the same moment, one may be lost; the next command adds it again.
    """
    record = read_record(store, run)
    if record is not None and (new := [dict(name) for name in asked if name not in record["asked_as"]]):
        write_record(store, record | {"asked_as": [*record["asked_as"], *new]})


def set_aside(store: Store, run: str) -> Path:
    """Renames all files in a run's folder to <name>.corrupt-<n> and returns the new path of its record.

    Then the run has no record and is trained again; nothing is deleted.  Raises StoreError.
    """
    folder, record = store.run_folder(run), store.record(run)
    suffix = next_suffix(folder)
    # The record first: without it the other files mean nothing and are written again.
    present = [name for name in names(folder) if not is_aside(name)]
    for name in sorted(present, key=lambda name: name != record.name):
        # Two commands may find the same damage at the same moment.
        with disk_errors("write", folder / name), contextlib.suppress(FileNotFoundError):
            os.replace(folder / name, folder / f"{name}{suffix}")
    return record.with_name(record.name + suffix)


def metrics_content(table: pa.Table) -> bytes:
    """The content of the file of these metrics."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue().to_pybytes()


def write_metrics(store: Store, run: str, table: pa.Table) -> dict[str, int]:
    """Writes the metrics of a run, before its record.  Returns the seal for the record.  Raises StoreError."""
    content = metrics_content(table)
    write_file(store.metrics(run), content)
    return seal(content)


def read_metrics(store: Store, run: str) -> pa.Table | None:
    """The metrics of a run, or None if it has none.  Raises CorruptRecord; StoreError if the disk does not answer."""
    path = store.metrics(run)
    content = checked_content(store, run, path)
    if content is None:
        return None
    try:
        # Not `pq.read_table`: it imports pandas if that is installed, and takes twice as long for a small file.
        return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise CorruptRecord(path, f"is not a complete Parquet file ({reason})", RERUN) from error
