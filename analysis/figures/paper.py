"""The format of a figure for a user's paper: width, font, caption, and a choice of lines."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.figures import style
from analysis.figures.drawing import Drawing, Panel, Series
from plasticity_lab.errors import ConfigError

NARROWEST, WIDEST = 2.0, 30.0
"""Inches."""
SHIPPED = ("DejaVu Sans", "DejaVu Serif", "STIXGeneral", "cmr10")
"""Fonts included in matplotlib: sans, serif, one like Times, and LaTeX's default font."""
SIZES = ("font.size", "axes.titlesize", "axes.labelsize", "figure.titlesize", "xtick.labelsize", "ytick.labelsize",
         "legend.fontsize")  # fmt: skip


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
        """The matplotlib settings that differ from our style.  Raises ConfigError if the font is not installed."""
        found: dict[str, Any] = {}
        if self.font is not None:
            found |= _family(self.font)
        if self.size is not None:
            found |= {name: style.MATPLOTLIB[name] * self.size / style.FONT for name in SIZES}
        return found


OURS = Paper()


def only(drawing: Drawing, lines: Sequence[str] | None) -> Drawing:
    """The drawing with only the named lines (or categories), and without panels that would be empty.

    Raises ConfigError, naming the existing lines, if a name is unknown.
    """
    if lines is None:
        return drawing
    wanted = {name.casefold() for name in lines}
    there = {name: None for panel in drawing.panels for name in _names(panel)}
    if unknown := [name for name in lines if name.casefold() not in {each.casefold() for each in there}]:
        raise ConfigError(f"The figure has no line '{unknown[0]}'; --lines takes {', '.join(there)}.")
    panels = [panel for each in drawing.panels if (panel := _of(each, wanted)).series]
    left = ", ".join(name for name in there if name.casefold() not in wanted)
    return replace(drawing, panels=panels, caption=[*drawing.caption, *([f"Left out: {left}."] if left else [])])


def _names(panel: Panel) -> Sequence[str]:
    """The names that choose lines of a panel: its categories if it has any, otherwise the labels of its series."""
    return panel.categories or [series.label for series in panel.series]


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
    columns = ("x", "y", "n", "x_sd", "y_sd", "y_range")
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
