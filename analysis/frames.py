"""A store as two Polars frames: one of runs, one of their metrics.

Polars and DuckDB were measured on 10,000 made records with 2.5 million rows of metrics, on two cores that others used
too (tests/helpers/many_records.py makes the store): all metrics into memory, Polars 2.8 s, DuckDB 20 s, pyarrow file by
file 34 s; a mean by task over all files, Polars 2.6 s, DuckDB 9.6 s; the records, Python's json 3.3 s, Polars'
`read_json` 3.0 s, DuckDB's 21 s with nested values left as text, and out of memory at 19 GB with all of them unfolded.
Hence Polars for frames, and records as every other command reads them, which names the damaged ones.
"""

import contextlib
import gc
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import polars as pl

from analysis.rows import Row, rows_in
from analysis.where import Where, chosen, settings_of
from plasticity_lab.process.account import expanded
from plasticity_lab.records.damage import fault_of_file
from plasticity_lab.records.record_facts import MEASURED
from plasticity_lab.records.store import Store

FIRST = {"run": pl.String, "kind": pl.String, "task": pl.Int64, "epoch": pl.Int64, "step": pl.Int64}
"""What metrics have whatever is measured."""
TOGETHER = 100
"""Columns are made of that many lines at a time: they lie in the processor's cache, which halves the time."""
_ID, _FILE = 12, "/metrics.parquet"


def frames(store: "str | PathLike[str]", where: Where) -> tuple[pl.DataFrame, pl.LazyFrame]:
    """The frames of a store, as `analysis.load` describes them."""
    root = expanded(store)
    with without_collecting():
        rows, left_out = rows_in(root)
        rows = chosen(rows, where)
        metrics, damaged = metrics_frame(Store(root), rows)
        runs = runs_frame(rows)
    for sentence in (*left_out, *damaged):
        warnings.warn(f"Left out: {sentence}", stacklevel=3)
    return runs, metrics


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Stops Python's search for garbage: records are millions of objects, all of them in use, and the search took an
    eighth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def runs_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """A line for each row; see `analysis.load`. A summary that has the name of a setting is called `summary.<name>`."""
    known: dict[tuple[int, int], Mapping[str, Any]] = {}
    settings = [settings_of(row, known) for row in rows]
    taken = set[str]().union(*settings)
    ended = {
        "diverged_at_step": [row.diverged_at_step for row in rows],
        "stopped_at_step": [row.stopped_at_step for row in rows],
        "end": [row.provenance.get("end") for row in rows],
        "error": [row.error for row in rows],
    }
    summaries = [
        {(f"summary.{name}" if name in taken else name): value for name, value in row.summary.items()} for row in rows
    ]
    columns = {**_ordered(_columns(settings)), **_columns(summaries), **ended}
    return pl.DataFrame([_series(name, values) for name, values in columns.items()])


def metrics_frame(store: Store, rows: Iterable[Row]) -> tuple[pl.LazyFrame, list[str]]:
    """The metrics of the runs that have ended among the rows, and a sentence for each file that is not whole.

    Runs with other columns stand below each other; a column that a run does not have is null there.
    """
    paths: dict[int, list[str]] = {}
    damaged = []
    for row in {row.run: row for row in rows if row.status in MEASURED}.values():
        path = store.metrics(row.run)
        if fault := fault_of_file(path):
            damaged.append(f"{path} {fault}.")
        else:
            # Of one declaration, hence with the same columns; alike declarations are one object.
            paths.setdefault(id(row.declared), []).append(str(path))
    if not paths:
        return pl.LazyFrame(schema=FIRST), damaged
    scans = [pl.scan_parquet(alike, include_file_paths="run", glob=False) for alike in paths.values()]
    together = pl.concat(scans, how="diagonal")
    run = pl.col("run").str.slice(-_ID - len(_FILE), _ID)
    return together.with_columns(run).select("run", pl.exclude("run")), damaged


def _columns(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values by name, in the order in which names first occur; None where a line lacks one."""
    columns: dict[str, list[Any]] = {name: [] for name in itertools.chain.from_iterable(lines)}
    for begin in range(0, len(lines), TOGETHER):
        part = lines[begin : begin + TOGETHER]
        for name, values in columns.items():
            values += [line.get(name) for line in part]
    return columns


def _ordered(columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """The settings of a choice behind everything else, by group."""
    return dict(sorted(columns.items(), key=lambda column: column[0].partition(".")[::2] if "." in column[0] else ()))


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    """A column of one type: truth values, whole numbers, numbers, else words; a list is written as words."""
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pl.Series(name, values, dtype=pl.Null)
    known = (({bool}, pl.Boolean), ({int}, pl.Int64), ({int, float}, pl.Float64), ({str}, pl.String))
    for fitting, dtype in known:
        if kinds <= fitting:
            return pl.Series(name, values, dtype=dtype, strict=False)
    return pl.Series(name, [value if value is None else _word(value) for value in values], dtype=pl.String)


def _word(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_word, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
