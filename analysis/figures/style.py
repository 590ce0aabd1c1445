"""How all figures look: colours, dashes, signs and sizes, for printed pictures and for the report's alike.

Seven colours that people with any kind of colour blindness can tell apart (Okabe and Ito, without their yellow, which
is too pale for a line) times three dashes: enough for all activations. An activation looks the same in every figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.figures.drawing import Series
from analysis.names import ACTIVATIONS, INTERVENTIONS

COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
INK, PALE, GRID = "#222222", "#999999", "#DDDDDD"
OURS, OTHER = COLOURS[4], COLOURS[5]
"""Of dots that stand for no activation: ours, or the later; the paper's, or the earlier."""
PLAIN = {"filled": OURS, "triangle": OURS, "hollow": OTHER}
"""Sign → colour of such series; that of others is pale."""
HOLLOW = ("hollow", "diamond")
"""Signs that are drawn as outlines."""
AROUND_0 = (COLOURS[3], "#FFFFFF", COLOURS[5])
"""Of numbers below 0, at 0 and above: green, white and a red that colour-blind people do not take for the green."""
CROWDED = 8
"""Of more lines in a panel the bands are paler."""


@dataclass(frozen=True)
class Look:
    """How one series looks. dash: in points on and off, empty for a whole line; marker: matplotlib's sign."""

    colour: str
    dash: tuple[float, ...]
    marker: str

    def colour_of(self, series: Series) -> str:
        """Its colour, or that of its sign if the series stands for nothing."""
        return self.colour if series.key else PLAIN.get(series.marker, PALE)


DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 1.6), (1.3, 1.3))
MARKERS = ("o", "s", "^")
MOST = len(COLOURS) * len(DASHES)
"""How many series can be told apart."""

POINTS = 50
"""How many points a curve has at most."""

FONT, SMALL, TINY = 9.0, 7.5, 6.5
"""Points."""
LINE, BAND = 1.4, 0.14
DOTS = 150
"""To the inch, of a PNG."""

SMALL_CHART = {
    "font": {"size": 12, "color": INK},
    "margin": {"l": 50, "r": 10, "t": 30, "b": 40},
    "plot_bgcolor": "white",
}
"""The layout of Plotly's small charts, in which the report draws single runs."""

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
    """Label → look, for pairs of a label and what it belongs to: an activation's or an intervention's name, or another.

    An activation always looks alike, and so does an intervention; others, and the second of a name that is there twice,
    take what is free.
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
