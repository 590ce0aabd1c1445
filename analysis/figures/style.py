"""The style of all figures: colours, dashes, markers and sizes, for printed pictures and for the report.

Seven colours are combined with three dash patterns, enough for all activations. The colours are distinct with any kind
of colour blindness (Okabe and Ito, without their yellow, which is too pale for a line). An activation has the same
style in every figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.figures.drawing import Series
from analysis.names import ACTIVATIONS, INTERVENTIONS

COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
INK, PALE, GRID = "#222222", "#999999", "#DDDDDD"
OURS, OTHER = COLOURS[4], COLOURS[5]
"""Colours of dots without an activation: ours (or the later result), and the paper's (or the earlier result)."""
PLAIN = {"filled": OURS, "triangle": OURS, "hollow": OTHER}
"""Marker → colour of series without an activation; with other markers they are pale."""
HOLLOW = ("hollow", "diamond")
"""Markers that are drawn as outlines."""
AROUND_0 = (COLOURS[3], "#FFFFFF", COLOURS[5])
"""Colours for numbers below 0, at 0 and above 0: green, white, and a red that is distinct for the colour-blind."""
CROWDED = 8
"""If a panel has more lines than this, its bands are paler."""


@dataclass(frozen=True)
class Look:
    """The style of one series.  dash: in points on and off, empty for a solid line. marker: matplotlib's code."""

    colour: str
    dash: tuple[float, ...]
    marker: str

    def colour_of(self, series: Series) -> str:
        """Its colour; if the series has no key, the colour of its marker."""
        return self.colour if series.key else PLAIN.get(series.marker, PALE)


DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 1.6), (1.3, 1.3))
MARKERS = ("o", "s", "^")
MOST = len(COLOURS) * len(DASHES)
"""The number of distinct styles."""

POINTS = 50
"""The maximal number of points of a curve."""

FONT, SMALL, TINY = 9.0, 7.5, 6.5
"""Font sizes, in points."""
LINE, BAND = 1.4, 0.14
DOTS = 150
"""Dots per inch of a PNG."""

SMALL_CHART = {
    "font": {"size": 12, "color": INK},
    "margin": {"l": 50, "r": 10, "t": 30, "b": 40},
    "plot_bgcolor": "white",
}
"""The layout of Plotly's small charts; the report draws single runs with it."""

MATPLOTLIB: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": FONT,
    "axes.titlesize": FONT,
    "axes.labelsize": FONT,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "figure.titlesize": FONT + 1,
    "lines.linewidth": LINE,
    "pdf.fonttype": 42,  # text that journals accept, and that can be searched
    "svg.hashsalt": "plasticity_lab",  # the same figure gives the same file
}


def looks(named: Sequence[tuple[str, str]]) -> dict[str, Look]:
    """Label → style.  named: pairs of a label and its key: the name of an activation or of an intervention, or another.

    An activation always has the same style, and so has an intervention. Other keys, and the second label with the same
    key, take a free style.
    """
    known = {name: place for names in (INTERVENTIONS, ACTIVATIONS) for place, name in enumerate(names)}
    places: dict[str, int] = {}
    waiting = []
    for label, key in dict(named).items():
        if key in known and known[key] not in places.values():
            places[label] = known[key]
        else:
            waiting.append(label)
    free = [place for place in range(MOST) if place not in places.values()]
    for number, label in enumerate(waiting):
        places[label] = free[number] if number < len(free) else number
    return {label: _look(place) for label, place in places.items()}


def _look(place: int) -> Look:
    dash = place // len(COLOURS) % len(DASHES)
    return Look(COLOURS[place % len(COLOURS)], DASHES[dash], MARKERS[dash])
