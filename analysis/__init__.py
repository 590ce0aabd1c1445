"""From the store to tables: loading, statistics, and the papers' results next to ours.

Notebooks begin with `from analysis import load`; docs/pages/how_to/analysis.md has recipes.
"""

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def load(
    store: "str | PathLike[str]" = "store", where: Mapping[str, Any] | None = None
) -> "tuple[pl.DataFrame, pl.LazyFrame]":
    """Loads a store as two Polars frames: one with its runs, one with their metrics.

    runs: one row for each pair of a run and a requested name (`runs.unique("run")` has each run once). Columns:

    - `run`: the id.
    - `status`: done, diverged, failed, stopped (a search stopped it early) or waiting (planned and not ended).
    - `collapsed` and further flags of agents; null for an agent without the flag.
    - each choice and setting by its key in a command: `activation`, `benchmark.batch_size`, `optimizer.lr`, `seed`,
      `protocol`.
    - the numbers of the run's summary as stored; accuracies are fractions.
    - the origin of the numbers: `commit`, `device`, `mode`, `torch`, `data`.

    The frame also has the runs that diverged, collapsed or were stopped: filter them before you take a mean.

    metrics: `metrics.parquet` of all these runs as a lazy frame. Nothing is read before `.collect()`, and then only the
    requested columns and rows. Columns: `run`, `kind`, `task`, `epoch`, `step`, and the columns of every agent, null in
    the rows of other agents.

    where: for each key the value, or the list of values, that a run must have: `{"benchmark": "cifar51",
    "seed": [0, 1]}`.

    Files that cannot be read are left out with a warning.  Raises StoreError if the store does not exist. Raises
    ConfigError, with the existing keys or values, if no run has the key, or if no run has one of the values.
    """
    from analysis.frames import frames  # imports Polars, which takes half a second; other commands do not need it

    return frames(store, where or {})
