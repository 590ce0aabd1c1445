"""The common range of the panels of a figure that show comparable values."""

from collections.abc import Iterator, Sequence
from math import isfinite

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.rows import grouped
from plasticity_lab.records.measures import POINTS

MARGIN = 0.05
"""The part of a range that is added at both of its ends."""
Range = tuple[float, float]


def axes_of(panel: Panel) -> str:
    """The axes of a panel's values, "x", "y" or "xy": names are along the other axis, or tasks, or another setting."""
    return "xy" if panel.diagonal else "x" if panel.categories else "y"


def comparable(drawing: Drawing) -> list[list[Panel]]:
    """For each panel the panels that share its range: itself, and those with the same label.

    The label is in percent, or the panels show the same place: returns of different environments are not comparable.
    """
    if drawing.own_ranges:
        return [[panel] for panel in drawing.panels]
    alike = grouped(drawing.panels, _scale)
    return [alike[scale] if (scale := _scale(panel)) else [panel] for panel in drawing.panels]


def ranges(drawing: Drawing) -> list[Range | None]:
    """The range along `axes_of` each panel; None if the panel shares it with no other one, and for heat maps."""
    return [_common(panels) for panels in comparable(drawing)]


def _scale(panel: Panel) -> tuple[str, str] | None:
    """The label of the values, and the place if it matters; None if no other panel is comparable."""
    label = panel.x_label if panel.categories else panel.y_label
    in_percent = "%" in label or POINTS in label
    return (label, "" if in_percent else panel.place) if panel.place or in_percent else None


def _common(panels: Sequence[Panel]) -> Range | None:
    """The least range with all values and the ends of their spreads, with a margin; None without values."""
    values = [value for panel in panels for series in panel.series for value in _values(panel, series)]
    if len(panels) < 2 or panels[0].heat or not values:
        return None
    margin = (max(values) - min(values)) * MARGIN or 1.0
    return min(values) - margin, max(values) + margin


def _values(panel: Panel, series: Series) -> Iterator[float]:
    axes = axes_of(panel)
    if "x" in axes:
        yield from _finite(*series.x, *(end for ends in series.x_ends if ends for end in ends))
    if "y" in axes:
        yield from _finite(*series.y, *(end for ends in series.y_ends if ends for end in ends))


def _finite(*values: float | str) -> Iterator[float]:
    return (value for value in values if not isinstance(value, str) and isfinite(value))
