"""A figure as data: its inputs, its panels of series with their numbers, and the sentences below them.

Static pictures, their CSV files and the pages of the report are all made from this data, so they show the same numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from analysis.rows import Row
from plasticity_lab.records.measures import Measure

if TYPE_CHECKING:  # to import the tables takes a tenth of a second
    from analysis.tables.table import Metrics

Marker = Literal["own", "filled", "hollow", "diamond", "triangle", "none"]
"""own: the marker of the activation's style; the others do not depend on the series."""


@dataclass(frozen=True)
class Asked:
    """The runs, and the options of a command about the figure.

    metrics: reads the metrics.parquet of runs, for figures that show curves. metric: a name of the records' summary
    (for a curve: a column of metrics.parquet); None: the main metric of a run's agent. by: the varied setting. made:
    results that several figures of the same rows share.
    """

    rows: Sequence[Row]
    metrics: "Metrics"
    metric: str | None = None
    by: str | None = None
    made: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Series:
    """Points of one name: a line of a curve, a row of dots.

    label: the name in a legend. key: the name that decides its colour, as an activation's; "" if it has none.
    x, y: numbers, or the names of a panel's categories. x_sd, y_sd: the spread of a point's runs, None if unknown;
    empty if no point has one. x_range, y_range: the two ends instead, if the two sides differ. n: the number of runs
    that a point averages. runs: their ids. joined: whether a line connects the points; a nan point breaks it. listed:
    whether a legend names it.
    """

    label: str
    key: str
    x: Sequence[float | str]
    y: Sequence[float | str]
    n: Sequence[int]
    x_sd: Sequence[float | None] = ()
    y_sd: Sequence[float | None] = ()
    y_range: Sequence[tuple[float, float] | None] = ()
    x_range: Sequence[tuple[float, float] | None] = ()
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
    def x_ends(self) -> list[tuple[float, float] | None]:
        """The lower and upper end of each point along x; empty if no point has a spread."""
        if self.x_range:
            return list(self.x_range)
        points = zip(self.x, self.x_sd, strict=True) if self.x_sd else ()
        return [(x - sd, x + sd) if _is_number(x) and sd is not None and isfinite(sd) else None for x, sd in points]

    @property
    def last(self) -> tuple[float, float] | None:
        """The last finite point, for a label; None if no point is finite."""
        numbers = [(x, y) for x, y in zip(self.x, self.y, strict=True) if _is_number(x) and _is_number(y)]
        return numbers[-1] if numbers else None


@dataclass(frozen=True)
class Panel:
    """A pair of axes.

    x_label, y_label: with units. categories: the names along y, from the top down; empty if y is numeric. x_categories:
    the names along x. x_log: whether x is logarithmic. x_whole: whether x values are whole numbers, as tasks are.
    x_ticks: the positions of ticks, if they are not chosen automatically. band: whether spreads are bands around a
    line; otherwise they are bars. diagonal: whether x = y is drawn; both axes then have one unit. zero: whether x = 0
    is drawn. labels: whether each series has its name at its end; otherwise a legend names them.
    place: the benchmark or environment, if the panels of one place show comparable values.
    heat: set for a heat map. Each series is then a row named by its label, with its numbers as colours; x_categories
    are above the columns. The value says whether the colour scale is symmetric around 0 or starts at 0.
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
    place: str = ""
    heat: Literal["around 0", "from 0"] | None = None


@dataclass(frozen=True)
class Drawing:
    """A figure: its name among the commands, a title, panels, and the sentences below them.

    own_ranges: whether each panel has its own range; otherwise comparable panels share one (`ranges.py`).
    """

    name: str
    title: str
    panels: Sequence[Panel]
    caption: Sequence[str] = field(default=())
    own_ranges: bool = False


def with_unit(words: str, measure: Measure) -> str:
    """The words of an axis label, followed by the measure's unit if it has one."""
    return f"{words} ({measure.unit})" if measure.unit else words


def _is_number(value: float | str) -> TypeGuard[float]:
    return not isinstance(value, str) and isfinite(value)
