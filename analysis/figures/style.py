"""The style of all figures: colours, dashes, markers and sizes, for printed pictures and for the report.

Seven colours are combined with three dash patterns, enough for all activations. The colours are distinct with any kind
of colour blindness (Okabe and Ito, without their yellow, which is too pale for a line). An activation has the same
style in every figure.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.names import ACTIVATIONS, INTERVENTIONS
from plasticity_lab.errors import ConfigError

COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
ON_DARK = {COLOURS[0]: "#F2F2F2", COLOURS[4]: "#4A86E8"}
"""Colour → its replacement on a dark page, if its contrast there is below 4.5 : 1 (WCAG 2.2, 1.4.3)."""
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
NARROWEST, WIDEST = 2.0, 30.0
"""Inches."""
SHIPPED = ("DejaVu Sans", "DejaVu Serif", "STIXGeneral", "cmr10")
"""Fonts included in matplotlib: sans, serif, one like Times, and LaTeX's default font."""


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

FILE = Path(__file__).with_name("ours.mplstyle")
"""The rest of the style, for matplotlib."""
SIZES = {
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), FONT),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), SMALL),
    "figure.titlesize": FONT + 1,
}
"""Setting of matplotlib → points."""


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


# The format of a figure for a user's paper.


@dataclass(frozen=True)
class Paper:
    """width: in inches; None: our default. font: a family; None: our default. size: points of normal text; smaller text
    scales in proportion. caption: whether the picture contains the caption.

    Raises ConfigError if width or size is outside the readable range.
    """

    width: float | None = None
    font: str | None = None
    size: float | None = None
    caption: bool = True

    def __post_init__(self) -> None:
        if self.width is not None and not NARROWEST <= self.width <= WIDEST:
            raise ConfigError(
                f"--width {self.width:g} is no width in inches; it lies between {NARROWEST} and {WIDEST}."
            )
        if self.size is not None and not 3 <= self.size <= 40:
            raise ConfigError(f"--font-size {self.size:g} is no size in points; it lies between 3 and 40.")

    def fonts(self) -> dict[str, Any]:
        """The settings of matplotlib for text.  Raises ConfigError if the font is not installed."""
        sizes = {name: points * (self.size or FONT) / FONT for name, points in SIZES.items()}
        return sizes if self.font is None else sizes | _family(self.font)


USUAL = Paper()


def only(drawing: Drawing, lines: Sequence[str] | None) -> Drawing:
    """The drawing with only the named lines (or categories), and without panels that would be empty.

    Raises ConfigError, naming the existing lines, if a name is unknown.
    """
    if lines is None:
        return drawing
    wanted = {name.casefold() for name in lines}
    there = {
        name: None
        for panel in drawing.panels
        for name in (panel.categories or [series.label for series in panel.series])
    }
    if unknown := [name for name in lines if name.casefold() not in {each.casefold() for each in there}]:
        raise ConfigError(f"The figure has no line '{unknown[0]}'; --lines takes {', '.join(there)}.")
    panels = [panel for each in drawing.panels if (panel := _of(each, wanted)).series]
    left = ", ".join(name for name in there if name.casefold() not in wanted)
    return replace(drawing, panels=panels, caption=[*drawing.caption, *([f"Left out: {left}."] if left else [])])


def _of(panel: Panel, wanted: Collection[str]) -> Panel:
    if not panel.categories:
        return replace(panel, series=[series for series in panel.series if series.label.casefold() in wanted])
    series = [
        _at(each, [place for place, y in enumerate(each.y) if str(y).casefold() in wanted]) for each in panel.series
    ]
    categories = [name for name in panel.categories if name.casefold() in wanted]
    return replace(panel, categories=categories, series=[each for each in series if each.x])


def _at(series: Series, places: Sequence[int]) -> Series:
    """The series with only the points at these indices."""
    columns = ("x", "y", "n", "x_sd", "y_sd", "x_range", "y_range")
    return replace(series, **{name: [of[at] for at in places] for name in columns if (of := getattr(series, name))})


def _family(font: str) -> dict[str, Any]:
    from matplotlib import font_manager

    try:
        font_manager.findfont(font, fallback_to_default=False)
    except ValueError as error:
        raise ConfigError(
            f"There is no font '{font}' on this machine; {', '.join(SHIPPED)} are always there."
        ) from error
    return {"font.family": [font, "DejaVu Sans"], "axes.formatter.use_mathtext": font == "cmr10"}
