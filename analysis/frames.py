"""A store as two Polars frames: one of runs, one of their metrics.

Polars and DuckDB were measured on 10,000 synthetic records with 2.5 million rows of metrics, on two busy cores
(tests/helpers/many_records.py makes the store).

- All metrics into memory: Polars 2.8 s, DuckDB 20 s, pyarrow file by file 34 s.
- A mean by task over all files: Polars 2.6 s, DuckDB 9.6 s.
- The records: Python's json 3.3 s, Polars' `read_json` 3.0 s, DuckDB 21 s with nested values as text. With all values
  unnested, DuckDB runs out of memory at 19 GB.

Polars therefore reads the metrics. Python's json reads the records, as in every other command, and names the damaged
ones.
"""

import contextlib
import gc
import itertools
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from analysis.asked import tell
from analysis.rows import Row, rows_in
from analysis.where import Where, chosen, settings_of
from plasticity_lab.process.account import expanded
from plasticity_lab.records.damage import fault_of_file
from plasticity_lab.records.first_readings import keep_first_reading
from plasticity_lab.records.record_facts import MEASURED
from plasticity_lab.records.store import Store

FIRST = {"run": pl.String, "kind": pl.String, "task": pl.Int64, "epoch": pl.Int64, "step": pl.Int64}
"""The columns that all metrics have."""
TOGETHER = 100
"""The number of rows in one step of `columns_of`. They fit into the processor's cache, which halves the time."""
_ID, _FILE = 12, "/metrics.parquet"


def frames(store: "str | PathLike[str]", where: Where) -> tuple[pl.DataFrame, pl.LazyFrame]:
    """The frames of a store that `analysis.load` describes."""
    root = expanded(store)
    with without_collecting():
        rows, left_out = rows_in(root)
        rows = chosen(rows, where)
        keep_first_reading(Store(root), [row.run for row in rows if row.status in MEASURED])
        metrics, damaged = metrics_frame(Store(root), rows)
        runs = runs_frame(rows)
    for sentence in (*left_out, *damaged):
        warnings.warn(f"Left out: {sentence}", stacklevel=3)
    return runs, metrics


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Disables Python's garbage collection. Records are millions of objects in use, and it took 1/8 of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def runs_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """One line for each row; see `analysis.load`. A summary with the name of a setting is called `summary.<name>`."""
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
    by_group = sorted(columns_of(settings).items(), key=lambda of: of[0].partition(".")[::2] if "." in of[0] else ())
    columns = {**dict(by_group), **columns_of(summaries), **ended}
    return pl.DataFrame([_series(name, values) for name, values in columns.items()])


def metrics_frame(store: Store, rows: Iterable[Row]) -> tuple[pl.LazyFrame, list[str]]:
    """The metrics of the rows' ended runs, and a sentence for each damaged file.

    A column that a run lacks is null in its lines.
    """
    paths: dict[int, list[str]] = {}
    damaged = []
    for row in {row.run: row for row in rows if row.status in MEASURED}.values():
        path = store.metrics(row.run)
        if fault := fault_of_file(path):
            damaged.append(f"{path} {fault}.")
        else:
            # Runs with one declaration have the same columns; equal declarations are one object.
            paths.setdefault(id(row.declared), []).append(str(path))
    if not paths:
        return pl.LazyFrame(schema=FIRST), damaged
    scans = [pl.scan_parquet(of_declaration, include_file_paths="run", glob=False) for of_declaration in paths.values()]
    together = pl.concat(scans, how="diagonal")
    run = pl.col("run").str.slice(-_ID - len(_FILE), _ID)
    return together.with_columns(run).select("run", pl.exclude("run")), damaged


def metrics_of(
    places: Sequence[Path], rows: Sequence[Row], runs: Collection[str], told: Callable[[str], None] = tell
) -> pl.LazyFrame:
    """The metrics of those runs, with the column `run`. If several stores have a run, the first store's are taken.

    told: called with a sentence for each damaged or missing file, which is left out. A table's JSON file among the
    places has no metrics.
    """
    named = set(runs)
    wanted = {row.run: row for row in rows if row.run in named}
    stores = [Store(place) for place in places if place.is_dir()]
    found = []
    for store in stores:
        here = {run: row for run, row in wanted.items() if store is stores[-1] or store.metrics(run).exists()}
        frame, damaged = metrics_frame(store, here.values())
        found.append(frame)
        wanted = {run: row for run, row in wanted.items() if run not in here}
        for sentence in damaged:
            told(sentence)
    return pl.concat(found, how="diagonal") if found else pl.LazyFrame(schema=FIRST)


def columns_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Name → the values of all lines, the names in the order of first occurrence; None if a line lacks the name."""
    columns: dict[str, list[Any]] = {name: [] for name in itertools.chain.from_iterable(lines)}
    for begin in range(0, len(lines), TOGETHER):
        part = lines[begin : begin + TOGETHER]
        for name, values in columns.items():
            values += [line.get(name) for line in part]
    return columns


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    """A column of the first type that fits: bool, int, float or string. Lists are written as strings."""
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
