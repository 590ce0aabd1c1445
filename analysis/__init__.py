"""From the store to tables: loading, statistics, and the papers' results next to ours.

Notebooks begin with `from analysis import load`; docs/analysis.md has recipes.
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

    runs: a line for each run and each name under which it was requested (`runs.unique("run")` has each run once). Its
    columns: `run` (the id), `status` (done, diverged, failed, stopped if a search stopped it early, or waiting if it is
    planned and has not ended), `collapsed` and further flags of agents (null for an agent that tells none); each choice
    and setting by its key in a command (`activation`, `benchmark.batch_size`, `optimizer.lr`, `seed`, `protocol`); the
    numbers of its summary as stored, accuracies as fractions; and their origin (`commit`, `device`, `mode`, `torch`,
    `data`). Runs that diverged, collapsed or were stopped are lines too: filter them before you take a mean.

    metrics: `metrics.parquet` of all those runs, lazily: nothing is read before `.collect()`, and then only the
    requested columns and rows. Columns: `run`, `kind`, `task`, `epoch`, `step`, and the columns of every agent, null in
    the lines of other agents.

    where: keys and the value, or the list of values, that a run must have: `{"benchmark": "cifar51", "seed": [0, 1]}`.

    Files that cannot be read are left out with a warning.  Raises StoreError if there is no such store; ConfigError,
    naming the keys or values that exist, for a key that no run has, or values that none has.
    """
    from analysis.frames import frames  # Polars: half a second, which commands that need no frame do not wait for

    return frames(store, where or {})
