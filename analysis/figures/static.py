"""A drawing as a picture of matplotlib: PDF and SVG for papers, PNG for everything else."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.figures import style
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.ranges import axes_of, comparable, ranges
from analysis.figures.style import USUAL, Look, Paper, looks

if TYPE_CHECKING:  # half a second to import; tables do not need it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Mapping[str, Mapping[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None}},
    "svg": {"metadata": {"Date": None}},
    "png": {"dpi": style.DOTS},
}
"""File ending → further arguments of matplotlib; without dates, so the same figure gives the same file."""
ACROSS = 2
"""Panels per row."""
WIDTH, ALONE, HEIGHT, LEGEND, A_CATEGORY = 4.8, 6.4, 3.2, 1.6, 0.19
"""Inches: widths of a panel and of a single panel, height of a panel, width of the legend, height of a category."""
FEW = 4
"""Up to this many names, the legend is one line above the panels; otherwise it is a column next to them."""
LINE, LABEL = 26, 34
"""Characters per line, for a name and for a label below an axis with names; longer lines do not fit."""
NARROW, A_NAME = 5.0, 1.1
"""Inches: below this width, panels are in one column; and the width of a name in a legend."""
LONG_NUMBERS = 100_000
"""From this size on, few numbers fit along an axis if names at the ends of lines take some of the width."""
CAP = 3.0
"""Half the width of an error bar's cap, in points: more than half a marker, which would hide a short bar."""
if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGE = 1e4
"""From this size on, a number is written as a power of ten."""


def pictures(drawing: Drawing, paper: Paper = USUAL) -> dict[str, bytes]:
    """Ending → the file, in the format of a paper.  No screen is needed.  Raises ConfigError."""
    import matplotlib

    with matplotlib.rc_context(dict[Any, Any](paper.fonts()), style.FILE):
        figure = draw(drawing, paper)
        files = {}
        for ending, told in FORMATS.items():
            file = io.BytesIO()
            figure.savefig(file, format=ending, **told)
            files[ending] = file.getvalue()
    return files


def draw(drawing: Drawing, paper: Paper = USUAL) -> "Figure":
    """The drawing on a matplotlib figure; `pictures` calls this with the settings of our style."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = drawing.panels
    across = min(ACROSS if paper.width is None or paper.width >= NARROW else 1, len(panels))
    down = -(-len(panels) // across)
    look_of = looks([(series.label, series.key) for panel in panels for series in panel.series])
    names = {series.label for panel in panels if not panel.labels for series in panel.series if series.listed}
    usual = (ALONE if across == 1 else WIDTH * across) + (LEGEND if len(names) > FEW else 0.0)
    width = paper.width or usual
    few = FEW if paper.width is None else max(1, int(width / A_NAME))
    beside = len(names) > few
    # A narrower panel is lower, too, unless each of its lines has a name.
    heights = [
        max(_height(panel, min(width / usual, 1.0)) for panel in panels[row * across :][:across]) for row in range(down)
    ]
    sentences = drawing.caption if paper.caption else ()
    caption = [line for sentence in sentences for line in textwrap.wrap(sentence, int(width * 19.5))]
    top = 0.5 if 1 < len(names) and not beside else 0.3
    height = sum(heights) + top + 0.13 * len(caption)
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    drawn = figure.subplots(down, across, squeeze=False, height_ratios=heights).ravel().tolist()
    for axes, panel, alike, shared in zip(drawn, panels, comparable(drawing), ranges(drawing), strict=False):
        if panel.heat:
            heat(axes, panel, colour_ends(alike))
        else:
            _panel(axes, panel, look_of)
        if shared:
            axes.set(**{f"{axis}lim": shared for axis in axes_of(panel)})
    for axes in drawn[len(panels) :]:
        axes.set_axis_off()
    # An empty second line of the title reserves space for the legend.
    figure.suptitle(drawing.title + "\n" * (1 < len(names) and not beside), x=0.01, ha="left", color=style.INK)
    if caption:
        words = "\n".join(caption)
        figure.supxlabel(words, x=0.01, ha="left", fontsize=style.TINY, color=style.INK, linespacing=1.3)
    if len(names) > 1:
        _legend(figure, drawn, {"loc": "outside right upper"} if beside else {
            "loc": "upper left", "bbox_to_anchor": (0.0, 1 - 0.2 / height), "ncols": few
        })  # fmt: skip
    figure.draw_without_rendering()  # lays it out; the height of each pair of axes is known only after this
    for axes, panel in zip(drawn, panels, strict=False):
        if panel.labels:
            _end_labels(axes, panel, look_of)
    return figure


def _height(panel: Panel, scale: float) -> float:
    """Inches, with space for the names of its categories or lines.  scale: its width relative to the usual one."""
    if panel.heat:
        return 1.0 + A_CATEGORY * len(panel.series)
    if panel.categories:
        # A second line adds less height than a name with the space around it.
        return 1.0 + A_CATEGORY * len(panel.categories) * (1 + _most_lines(panel.categories)) / 2
    if panel.diagonal:
        return WIDTH * scale
    names = 0.125 * len(panel.series) * _most_lines([series.label for series in panel.series])
    return max(HEIGHT * scale, 0.9 + names if panel.labels else 0.0)


def _panel(axes: "Axes", panel: Panel, look_of: Mapping[str, Look]) -> None:
    if panel.diagonal:
        axes.axline((0, 0), slope=1, color=style.PALE, linewidth=0.8, zorder=0)
    if panel.zero:
        axes.axvline(0, color=style.PALE, linewidth=0.8, zorder=0)
    if panel.x_log:
        axes.set_xscale("log")
    for series in panel.series:
        _series(axes, panel, series, look_of[series.label])
    if panel.diagonal:
        limits = min(axes.get_xlim()[0], axes.get_ylim()[0]), max(axes.get_xlim()[1], axes.get_ylim()[1])
        axes.set(xlim=limits, ylim=limits)
    if panel.categories:
        axes.set_yticks(range(len(panel.categories)), [_in_lines(name) for name in panel.categories])
        axes.set_ylim(len(panel.categories) - 0.4, -0.6)
    if panel.x_categories:
        axes.set_xticks(range(len(panel.x_categories)), panel.x_categories)
    elif panel.x_ticks:
        axes.set_xticks(panel.x_ticks, [f"{tick:g}" for tick in panel.x_ticks])
        axes.minorticks_off()
    elif not panel.x_log:
        crowded = panel.labels and axes.get_xlim()[1] >= LONG_NUMBERS
        axes.locator_params("x", nbins=5 if crowded else 8, integer=panel.x_whole)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.set_title(panel.title, loc="left")
    below = textwrap.fill(panel.x_label, LABEL) if panel.categories else panel.x_label
    axes.set(xlabel=below, ylabel=panel.y_label)


def _series(axes: "Axes", panel: Panel, series: Series, look: Look) -> None:
    x, y = _numbers(series.x, panel.x_categories), _numbers(series.y, panel.categories)
    x_ends = np.array([(np.nan, np.nan) if each is None else each for each in series.x_ends]).T
    ends = np.array([(np.nan, np.nan) if each is None else each for each in series.y_ends]).T
    colour, bars = look.colour_of(series), None
    signs = {"none": "", "own": look.marker, "filled": "o", "hollow": "o", "diamond": "D", "triangle": "^"}
    alone = series.marker == "none" and len(series.x) == 1  # a line with one point would be invisible
    if ends.size and panel.band:
        paler = 1 + (len(panel.series) > style.CROWDED)
        axes.fill_between(x, *ends, color=colour, alpha=style.BAND / paler, linewidth=0)
    elif ends.size:
        bars = abs(ends - y)
    sides = abs(x_ends - x) if x_ends.size else None
    line = _dashes(look) if series.key else "-"
    axes.errorbar(
        x, y, xerr=sides, yerr=bars, color=colour, linestyle=line if series.joined else "none",
        marker="." if alone else signs[series.marker], markersize=4.5,
        markerfacecolor="white" if series.marker in style.HOLLOW else colour, elinewidth=0.9, capsize=CAP,
        label=series.label if series.listed else None,
        zorder=2 if series.listed else 1.5,  # a line between two points does not replace their bars
    )  # fmt: skip


def _numbers(values: Sequence[float | str], categories: Sequence[str]) -> np.ndarray:
    """Values unchanged; names as their indices among the categories."""
    return np.array([categories.index(at) if isinstance(at, str) else at for at in values], float)


def _dashes(look: Look) -> Any:
    """The line style for matplotlib."""
    return (0, look.dash) if look.dash else "-"


def _end_labels(axes: "Axes", panel: Panel, look_of: Mapping[str, Look]) -> None:
    """Names next to the ends of the lines, moved apart if they would cover each other."""
    ends = [(series, last) for series in panel.series if (last := series.last)]
    if not ends:
        return
    to_axes = axes.transData + axes.transAxes.inverted()
    places = [to_axes.transform(last) for _, last in ends]
    room = axes.get_window_extent().height / axes.figure.dpi * 72 / (style.TINY * 1.25)
    apart = _most_lines([series.label for series, _ in ends]) / room
    for (series, _), (x, y), at in zip(ends, places, spread([y for _, y in places], apart), strict=True):
        look = look_of[series.label]
        beyond = {"color": look.colour, "transform": axes.transAxes, "clip_on": False, "scalex": False, "scaley": False}
        axes.plot([x, 1.03], [y, at], linewidth=0.4, **beyond)
        axes.plot([1.03, 1.08], [at, at], linestyle=_dashes(look), **beyond)
        name = _in_lines(series.label)
        axes.text(1.09, at, name, color=look.colour, fontsize=style.TINY, va="center", transform=axes.transAxes)


def _legend(figure: "Figure", drawn: Sequence["Axes"], where: Mapping[str, Any]) -> None:
    """Draws one legend for all panels; each name appears once."""
    handles = {}
    for axes in drawn:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), map(_in_lines, handles), **where)


def _in_lines(name: str) -> str:
    """A name, in several lines if it is long."""
    return textwrap.fill(name, LINE, break_long_words=False, break_on_hyphens=False)


def _most_lines(names: Sequence[str]) -> int:
    return max((_in_lines(name).count("\n") + 1 for name in names), default=1)


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Places as near as possible to the wanted ones, in the given order, at least `apart` from each other, in [0, 1].

    If they do not all fit into [0, 1], they keep their distance and exceed it.
    """

    def bottom(group: Sequence[int]) -> float:
        """The lowest place of a group of touching names; the group is centred on the mean of its wanted places."""
        length = (len(group) - 1) * apart
        middle = sum(wanted[at] for at in group) / len(group)
        return max(0.0, min(middle - length / 2, 1.0 - length))

    groups: list[list[int]] = []
    for at in sorted(range(len(wanted)), key=lambda at: wanted[at]):
        groups.append([at])
        while len(groups) > 1 and bottom(groups[-2]) + (len(groups[-2]) - 1) * apart + apart > bottom(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    places = [0.0] * len(wanted)
    for group in groups:
        for number, at in enumerate(group):
            places[at] = bottom(group) + number * apart
    return places


def heat(axes: "Axes", panel: Panel, ends: tuple[float, float]) -> None:
    """Draws the panel: a row for each series, a column for each of its categories along x.

    ends: the range of its colours.
    """
    from matplotlib.colors import LinearSegmentedColormap

    values, (least, most) = numbers(panel), ends
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


def colour_ends(panels: Sequence[Panel]) -> tuple[float, float]:
    """The ends of the colour scale that the panels share: symmetric around 0, or from 0 on."""
    most = max(float(np.nanmax(np.abs(numbers(panel)), initial=0.0)) for panel in panels) or 1.0
    return (0.0 if panels[0].heat == "from 0" else -most), most


def written(value: float) -> str:
    """The text of a number in the heat map."""
    if not np.isfinite(value):
        return "–"
    return f"{round(value):,}" if abs(value) < LARGE else f"{value:.0e}"
