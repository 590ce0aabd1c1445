"""What a figure is, before anybody draws it: panels of series with their numbers, and the sentences below them.

The static pictures, the CSV beside them and the pages of the report are all made from this, so that they cannot differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, TypeGuard

Marker = Literal["own", "filled", "hollow", "diamond", "triangle", "none"]
"""own: the sign of an activation's look; the others are the same whatever a series stands for."""


@dataclass(frozen=True)
class Series:
    """Points of one name: a line of a curve, a row of dots.

    label: as a legend says it. key: what its colour belongs to, an activation's name; "" for one that stands for no
    activation. x, y: numbers, or the names of a panel's categories. x_sd, y_sd: how far the runs of a point spread,
    None where that is not known; empty where no point has it. y_range: from where to where instead, where its two sides
    differ. n: of how many runs a point is the mean. runs: their ids. joined: whether a line goes through the points; a
    point that is nan breaks it. listed: whether a legend names it.
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
        """From where to where each point spreads along y; empty where no point does."""
        if self.y_range:
            return list(self.y_range)
        points = zip(self.y, self.y_sd, strict=True) if self.y_sd else ()
        return [(y - sd, y + sd) if _is_number(y) and sd is not None and isfinite(sd) else None for y, sd in points]

    @property
    def last(self) -> tuple[float, float] | None:
        """The last point that is a number, where a label can stand; None where there is none."""
        numbers = [(x, y) for x, y in zip(self.x, self.y, strict=True) if _is_number(x) and _is_number(y)]
        return numbers[-1] if numbers else None


@dataclass(frozen=True)
class Panel:
    """A pair of axes.

    x_label, y_label: with units. categories: what stands along y, from the top down, where that is names;
    x_categories: what stands along x, where that is. x_log: whether x is logarithmic; x_whole: whether its values are
    whole numbers, as tasks are; x_ticks: where it has marks, if that is not left to whoever draws. band: whether
    spreads are bands beside a line, else bars. diagonal: whether x = y is drawn, both being of the same unit; zero:
    whether x = 0 is. labels: whether each series is named where it ends; else a legend names them. heat: where each
    series is a row of fields, named by its label, with its numbers as colours, and x_categories above the columns:
    whether those reach as far below 0 as above it, or from 0 on.
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
    """A figure: its name among the commands, a title, panels, and what must be said below them."""

    name: str
    title: str
    panels: Sequence[Panel]
    caption: Sequence[str] = field(default=())


def _is_number(value: float | str) -> TypeGuard[float]:
    return not isinstance(value, str) and isfinite(value)
