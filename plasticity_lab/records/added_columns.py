"""Columns added to the metrics of a finished run, and to its record, which stay whole whenever that is interrupted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.damage import read_file, seal
from plasticity_lab.records.kept_files import REPLACING, RERUN
from plasticity_lab.records.measures import Column
from plasticity_lab.records.record import metrics_content, read_metrics, read_record, write_metrics, write_record
from plasticity_lab.records.record_digest import ADDED
from plasticity_lab.records.store import Store


def add_columns(
    store: Store,
    run: str,
    columns: Sequence[Column],
    at_tasks: Mapping[int, Mapping[str, float]],
    names: Sequence[str],
    by: Mapping[str, Any],
) -> None:
    """Adds columns of tasks to a finished run.

    at_tasks: position of a task → column → its value when that task had ended; rows of other tasks are empty. names: of
    the diagnostics that the record has then. by: what the record says of this, among its `observed`. The summary has
    the values of the last of these tasks.

    Raises StoreError where the run has no record, or no metrics.
    """
    record, table = read_record(store, run), read_metrics(store, run)
    if record is None or table is None:
        raise StoreError(f"Run {run} has no record with metrics to which columns could be added.")
    rows = list(zip(table["kind"].to_pylist(), table["task"].to_pylist(), strict=True))
    for column in columns:
        values = [at_tasks.get(task, {}).get(column.name) if kind == "task" else None for kind, task in rows]
        if column.name in table.column_names:
            # What was seen of epochs, and of tasks that are not among these, stays.
            at, before = table.column_names.index(column.name), table[column.name].to_pylist()
            values = [_stored(old if value is None else value) for old, value in zip(before, values, strict=True)]
            table = table.set_column(at, column.name, pa.array(values, pa.float64()))
        else:
            table = table.append_column(column.name, pa.array(map(_stored, values), pa.float64()))
    last = at_tasks[max(at_tasks)]
    declared = declared_in(record)
    known = {column.name for column in declared.columns}
    declared = replace(
        declared,
        columns=[*declared.columns, *(column for column in columns if column.name not in known)],
        summaries={**declared.summaries, **{column.name: column.measure for column in columns}},
    )
    summary = {column.name: _stored(last.get(column.name)) for column in columns}
    content, written = metrics_content(table)
    file = store.metrics(run).name
    # An interrupted one before may have left either file: which of them is there is what the record says first.
    there = seal(read_file(store.metrics(run), RERUN) or b"")
    record = {key: value for key, value in record.items() if key != REPLACING}
    write_record(store, record | {"files": record["files"] | {file: there}, REPLACING: {file: written}})
    write_metrics(store, run, table, content)
    whole = record | {
        "summary": record["summary"] | summary,
        "measures": declared.as_json(),
        "diagnostics": [*record["diagnostics"], *(name for name in names if name not in record["diagnostics"])],
        "files": record["files"] | {file: written},
        ADDED: sorted({*record.get(ADDED, []), *(column.name for column in columns if column.name not in known)}),
        "observed": [*record.get("observed", []), dict(by)],
    }
    write_record(store, whole)


def _stored(value: float | None) -> float | None:
    """As metrics and records have it: nothing where there is no number."""
    return None if value is None or value != value else value
