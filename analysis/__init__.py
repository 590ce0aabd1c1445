"""From the store to tables: loading, statistics, and the papers' results beside ours.

`from analysis import load` is what notebooks begin with; docs/analysis.md has recipes.
"""

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def load(
    store: "str | PathLike[str]" = "store", where: Mapping[str, Any] | None = None
) -> "tuple[pl.DataFrame, pl.LazyFrame]":
    """A store as two Polars frames: one of its runs, one of their metrics.

    runs: a line for each run and each name under which it was asked for (`runs.unique("run")` has each run once). Its
    columns: `run` (the id), `status` (done, diverged, failed, stopped, of runs that a search has stopped early, or
    waiting, of runs that are planned and have not ended), `collapsed` and what else agents say of a run (null where one
    says nothing); each choice and setting by the key that a command gives it (`activation`, `benchmark.batch_size`,
    `optimizer.lr`, `seed`, `protocol`); the numbers of its summary as stored, accuracies as fractions; then where they
    come from (`commit`, `device`, `mode`, `torch`, `data`). Runs that diverged, collapsed or were stopped are there: a
    mean over `runs` is yours to filter.

    metrics: `metrics.parquet` of all those runs, lazily: nothing is read before `.collect()`, and then only what is
    asked for. Columns: `run`, `kind`, `task`, `epoch`, `step`, and those of every agent, null in the rows of others.

    where: keys and the value, or the list of values, that a run must have: `{"benchmark": "cifar51", "seed": [0, 1]}`.

    What cannot be read is left out with a warning.  Raises StoreError if there is no such store; ConfigError, naming
    what there is, for a key that no run has, or values that none has.
    """
    from analysis.frames import frames  # Polars: half a second, which commands that need no frame do not wait for

    return frames(store, where or {})
