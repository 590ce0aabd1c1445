"""What a figure is made from."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analysis.rows import Row

if TYPE_CHECKING:
    import polars as pl

Metrics = Callable[[Collection[str]], "pl.LazyFrame"]
"""Ids of runs → what they measured along their way: the rows of their metrics.parquet, with `run`."""


@dataclass(frozen=True)
class Asked:
    """The runs, and what the command says of the figure.

    metrics: reads what runs measured, for those figures that show it. metric: a name of the records' summary (of a
    curve: of a column of metrics.parquet), None for what a run's agent names first. by: the setting that is varied.
    made: results of one figure that others of the same rows share.
    """

    rows: Sequence[Row]
    metrics: Metrics
    metric: str | None = None
    by: str | None = None
    made: dict[str, Any] = field(default_factory=dict, compare=False)
