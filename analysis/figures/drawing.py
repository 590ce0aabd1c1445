"""A figure as data: what it is made from, panels of series with their numbers, and the sentences below them.

The static pictures, the CSV next to them and the pages of the report are all made from this, so they cannot differ.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from analysis.rows import Row
from plasticity_lab.records.measures import Measure

if TYPE_CHECKING:
    import polars as pl

Metrics = Callable[[Collection[str]], "pl.LazyFrame"]
"""Ids of runs → what they measured along their way: the rows of their metrics.parquet, with `run`."""
Marker = Literal["own", "filled", "hollow", "diamond", "triangle", "none"]
"""own: the sign of an activation's look; the others do not depend on the series."""


@dataclass(frozen=True)
class Asked:
    """The runs, and the options of a command about the figure.

    metrics: reads what runs measured, for figures that show it. metric: a name of the records' summary (for a curve: a
    column of metrics.parquet), None for the main metric of a run's agent. by: the setting that is varied. made: results
    of one figure that other figures of the same rows share.
    """

    rows: Sequence[Row]
    metrics: Metrics
    metric: str | None = None
    by: str | None = None
    made: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Series:
    """Points of one name: a line of a curve, a row of dots.

    label: as a legend shows it. key: the name that decides its colour, as an activation's; "" if it stands for none.
    x, y: numbers, or the names of a panel's categories. x_sd, y_sd: the spread of the runs of a point, None if that is
    not known; empty if no point has one. y_range: the lower and upper end instead, if the two sides differ. n: how many
    runs a point is the mean of. runs: their ids. joined: whether a line goes through the points; a point that is nan
    breaks it. listed: whether a legend names it.
    """

    label: str
    key: str
    x: Sequence[float | str]
    y: Sequence[float | str]
    n: Sequence[int]
    x_sd: Sequence[float | None] = ()
    y_sd: Sequence[float | None] = ()
    y_range: Sequence[tuple[float, float] | None] = ()
    runs: Sequence[str] = ()
    joined: bool = True
    marker: Marker = "none"
    listed: bool = True

    @property
    def y_ends(self) -> list[tuple[float, float] | None]:
        """The lower and upper end of each point along y; empty if no point has a spread."""
        if self.y_range:
            return list(self.y_range)
        points = zip(self.y, self.y_sd, strict=True) if self.y_sd else ()
        return [(y - sd, y + sd) if _is_number(y) and sd is not None and isfinite(sd) else None for y, sd in points]

    @property
    def last(self) -> tuple[float, float] | None:
        """The last point that is a number, for a label; None if there is none."""
        numbers = [(x, y) for x, y in zip(self.x, self.y, strict=True) if _is_number(x) and _is_number(y)]
        return numbers[-1] if numbers else None


@dataclass(frozen=True)
class Panel:
    """A pair of axes.

    x_label, y_label: with units. categories: the names along y, from the top down, if there are some; x_categories: the
    names along x. x_log: whether x is logarithmic; x_whole: whether its values are whole numbers, as tasks are;
    x_ticks: the places of its marks, if they are not chosen automatically. band: whether spreads are bands around a
    line, else bars. diagonal: whether x = y is drawn, both having one unit; zero: whether x = 0 is. labels: whether
    each series is named at its end; else a legend names them. heat: if each series is a row of fields, named by its
    label, with its numbers as colours, and x_categories above the columns: whether colours reach as far below 0 as
    above it, or from 0 on.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    categories: Sequence[str] = ()
    x_categories: Sequence[str] = ()
    x_log: bool = False
    x_whole: bool = False
    x_ticks: Sequence[float] = ()
    band: bool = False
    diagonal: bool = False
    zero: bool = False
    labels: bool = False
    heat: Literal["around 0", "from 0"] | None = None


@dataclass(frozen=True)
class Drawing:
    """A figure: its name among the commands, a title, panels, and the sentences below them."""

    name: str
    title: str
    panels: Sequence[Panel]
    caption: Sequence[str] = field(default=())


def with_unit(words: str, measure: Measure) -> str:
    """The words of an axis, with the unit of a measure behind them if it has one."""
    return f"{words} ({measure.unit})" if measure.unit else words


def _is_number(value: float | str) -> TypeGuard[float]:
    return not isinstance(value, str) and isfinite(value)
