"""A heat map: rows and columns of numbers as colours, around 0 or from 0 on, with each number printed."""

from typing import TYPE_CHECKING

import numpy as np

from analysis.figures import style
from analysis.figures.drawing import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGE = 1e4
"""From this size on, a number is written as a power of ten."""


def heat(axes: "Axes", panel: Panel) -> None:
    """Draws the panel: a row for each series, a column for each of its categories along x."""
    from matplotlib.colors import LinearSegmentedColormap

    values, (least, most) = numbers(panel), colour_ends(panel)
    colours = LinearSegmentedColormap.from_list("around_0", style.AROUND_0 if least else style.AROUND_0[1:])
    image = axes.imshow(values, cmap=colours, vmin=least, vmax=most, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        axes.text(column, row, written(value), ha="center", va="center", fontsize=style.TINY, color=style.INK)
    axes.set_xticks(range(len(panel.x_categories)), panel.x_categories)
    axes.set_yticks(range(len(panel.series)), [series.label for series in panel.series])
    axes.grid(visible=False)
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(panel.x_label)
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02)
    bar.set_label(panel.y_label, fontsize=style.SMALL)
    bar.outline.set_visible(False)


def numbers(panel: Panel) -> np.ndarray:
    """The numbers, (series, categories along x); NaN if a series has no value for a category."""
    found = np.full((len(panel.series), len(panel.x_categories)), np.nan)
    for row, series in enumerate(panel.series):
        found[row, [panel.x_categories.index(str(x)) for x in series.x]] = series.y
    return found


def colour_ends(panel: Panel) -> tuple[float, float]:
    """The ends of the colour scale: symmetric around 0, or from 0 on."""
    most = float(np.nanmax(np.abs(numbers(panel)), initial=0.0)) or 1.0
    return (0.0 if panel.heat == "from 0" else -most), most


def written(value: float) -> str:
    """The text of a number in the heat map."""
    if not np.isfinite(value):
        return "–"
    return f"{round(value):,}" if abs(value) < LARGE else f"{value:.0e}"
