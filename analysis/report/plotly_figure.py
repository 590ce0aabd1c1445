"""A drawing as Plotly charts, in the style of the printed figures: the same series, with values to hover over."""

import html
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from analysis.figures import style
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.ranges import axes_of, comparable, ranges
from analysis.figures.static import colour_ends, numbers, written
from analysis.figures.style import Look, looks

Chart = dict[str, Any]
"""The arguments of Plotly.newPlot: `data` and `layout`."""
A_CATEGORY, A_NAME, LINES, AROUND = 22, 20, 440, 170
"""Heights in pixels: a category, a name in the legend, the minimum of a line chart, and the margins of a chart."""
_SIGNS = {"o": "circle", "s": "square", "^": "triangle-up"}
_AXIS = {"gridcolor": style.GRID, "zerolinecolor": style.GRID, "linecolor": style.PALE, "ticks": "outside"}


def charts(drawing: Drawing) -> list[Chart]:
    """One chart for each panel, with its title."""
    look_of = looks([(series.label, series.key) for panel in drawing.panels for series in panel.series])
    made = []
    for panel, alike, shared in zip(drawing.panels, comparable(drawing), ranges(drawing), strict=True):
        if panel.heat:
            made.append({"data": [_heat(panel, colour_ends(alike))], "layout": _layout(panel)})
            continue
        made.append(_chart(panel, look_of))
        for axis in axes_of(panel) if shared else "":
            made[-1]["layout"][f"{axis}axis"]["range"] = shared
    return made


def _chart(panel: Panel, look_of: Mapping[str, Look]) -> Chart:
    traces: list[dict[str, Any]] = []
    for series in panel.series:
        look = look_of[series.label]
        if panel.band and any(series.y_ends):
            traces.append(_band(series, look, len(panel.series)))
        traces.append(_trace(panel, series, look))
    return {"data": traces, "layout": _layout(panel)}


def _trace(panel: Panel, series: Series, look: Look) -> dict[str, Any]:
    colour = look.colour_of(series)
    marked = series.marker != "none" or len(series.x) == 1
    dashes = look.dash if series.key else ()
    dash = ",".join(f"{part * style.LINE * 1.3:.1f}px" for part in dashes) or "solid"
    signs = {"own": _SIGNS[look.marker], "triangle": "triangle-up", "hollow": "circle-open", "diamond": "diamond-open"}
    trace = {
        "type": "scatter",
        "mode": "+".join([*(["lines"] if series.joined else []), *(["markers"] if marked else [])]),
        "name": _escaped(series.label),
        "legendgroup": _escaped(series.label),
        "showlegend": series.listed,
        "x": _escaped_all(series.x),
        "y": _escaped_all(series.y),
        "line": {"color": colour, "width": style.LINE * 1.3, "dash": dash},
        "marker": {"color": colour, "size": 8, "symbol": signs.get(series.marker, "circle"), "line": {"width": 1.5}},
        "customdata": [[many, _spread(series, at)] for at, many in enumerate(series.n)],
        "hovertemplate": _hover(panel, series),
    }
    for axis, spread in (("x", series.x_sd), ("y", series.y_sd)):
        if any(_there(sd) for sd in spread) and not (axis == "y" and panel.band):
            array = [sd if _there(sd) else 0 for sd in spread]
            trace[f"error_{axis}"] = {"type": "data", "array": array, "thickness": 1, "width": 3, "color": colour}
    if any(series.x_range):
        low, high = zip(*(ends or (x, x) for x, ends in zip(series.x, series.x_range, strict=True)), strict=True)
        sides = {"array": [end - x for x, end in zip(series.x, high, strict=True)]}
        sides["arrayminus"] = [x - end for x, end in zip(series.x, low, strict=True)]
        trace["error_x"] = {"type": "data", "symmetric": False, **sides, "thickness": 1, "width": 3, "color": colour}
    return trace


def _heat(panel: Panel, ends: tuple[float, float]) -> dict[str, Any]:
    """The trace of a heat map, with the number in each field.  ends: the range of its colours."""
    values, (least, most) = numbers(panel), ends
    colours = style.AROUND_0 if least else style.AROUND_0[1:]
    runs = [[series.n[at] if at < len(series.n) else 0 for at in range(len(series.x))] for series in panel.series]
    named = _escaped(panel.y_label)
    return {
        "type": "heatmap",
        "x": _escaped_all(panel.x_categories),
        "y": [_escaped(series.label) for series in panel.series],
        "z": [_escaped_all(row) for row in values.tolist()],
        "text": [[written(value) for value in row] for row in values.tolist()],
        "texttemplate": "%{text}",
        "zmin": least,
        "zmax": most,
        "colorscale": [[at / (len(colours) - 1), colour] for at, colour in enumerate(colours)],
        "colorbar": {"title": {"text": named, "side": "right"}, "thickness": 12},
        "customdata": runs,
        "hovertemplate": f"%{{y}}, %{{x}}<br>{named}: %{{z:.4~g}}<br>runs: %{{customdata}}<extra></extra>",
    }


def _band(series: Series, look: Look, lines: int) -> dict[str, Any]:
    """The spread around a line as a filled area: the upper ends forwards, then the lower ends backwards.

    The area has a gap at each gap of the line.
    """
    x: list[float | str | None] = []
    y: list[float | None] = []
    for points in _whole_parts(series):
        back = points[::-1]
        x += [*(at for at, _, _ in points), *(at for at, _, _ in back), None]
        y += [*(high for _, _, high in points), *(low for _, low, _ in back), None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "fill": "toself",
        "fillcolor": look.colour,
        "opacity": style.BAND / (1 + (lines > style.CROWDED)),
        "line": {"width": 0},
        "legendgroup": _escaped(series.label),
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _whole_parts(series: Series) -> list[list[tuple[float | str, float, float]]]:
    """The points with a spread, each as (x, lower end, upper end), split into parts at the points without a spread."""
    parts: list[list[tuple[float | str, float, float]]] = [[]]
    for x, ends in zip(series.x, series.y_ends, strict=True):
        if ends is not None:
            parts[-1].append((x, *ends))
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _layout(panel: Panel) -> dict[str, Any]:
    layout = {
        "title": {"text": _escaped(panel.title), "x": 0, "xref": "paper", "font": {"size": 14}},
        "font": {"size": 12, "color": style.INK},
        "height": _height(panel),
        "margin": {"l": 60, "r": 10, "t": 45, "b": 50},
        "hovermode": "closest",
        "plot_bgcolor": "white",
        "xaxis": {**_AXIS, "title": {"text": _escaped(panel.x_label)}},
        "yaxis": {**_AXIS, "title": {"text": _escaped(panel.y_label)}},
        "legend": {"tracegroupgap": 0, "font": {"size": 11}},
    }
    if panel.x_log:
        layout["xaxis"]["type"] = "log"
    if panel.x_ticks:
        layout["xaxis"] |= {"tickvals": list(panel.x_ticks), "ticktext": [f"{tick:g}" for tick in panel.x_ticks]}
    if panel.x_categories:
        layout["xaxis"] |= _categories(panel.x_categories)
    if panel.categories:
        layout["yaxis"] |= {
            **_categories(panel.categories),
            "automargin": True,
            "range": [len(panel.categories) - 0.5, -0.5],
        }
        layout["legend"] = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right"}
        layout["margin"]["t"] = 75  # Plotly's buttons are above the legend
    if panel.heat:
        layout["yaxis"] |= _categories([series.label for series in panel.series])
        layout["yaxis"] |= {"autorange": "reversed", "automargin": True, "title": {"text": ""}}
    if panel.diagonal:
        line = {"type": "line", "x0": 0, "y0": 0, "x1": 100, "y1": 100, "line": {"color": style.PALE, "width": 1}}
        layout["shapes"] = [{**line, "layer": "below"}]
    if panel.zero:
        line = {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": style.PALE}}
        layout["shapes"] = [{**line, "layer": "below"}]
    return layout


def _height(panel: Panel) -> int:
    """The height in pixels that shows all categories and all names of the legend."""
    if panel.categories or panel.heat:
        return AROUND + A_CATEGORY * len(panel.series if panel.heat else panel.categories)
    return max(LINES, AROUND + A_NAME * sum(series.listed for series in panel.series))


def _categories(names: Sequence[str]) -> dict[str, Any]:
    return {"type": "category", "categoryorder": "array", "categoryarray": _escaped_all(names)}


def _hover(panel: Panel, series: Series) -> str:
    """The text under the mouse pointer: the name, both values, the spread, and the number of runs."""
    place = "%{y}" if panel.categories else f"{_escaped(panel.x_label)} %{{x:,.6~g}}"
    value = "%{x:.4~g}" if panel.categories else "%{y:.4~g}"
    label = "" if panel.categories and not series.listed else f"<b>{_escaped(series.label)}</b><br>"
    named = _escaped(panel.x_label if panel.categories else panel.y_label)
    return f"{label}{place}<br>{named}: {value}%{{customdata[1]}}<br>runs: %{{customdata[0]}}<extra></extra>"


def _spread(series: Series, at: int) -> str:
    ranges = series.y_range or series.x_range
    if at < len(ranges) and (ends := ranges[at]):
        return f" [{ends[0]:.2f}, {ends[1]:.2f}]"
    spreads = series.y_sd or series.x_sd
    return f" ± {spreads[at]:.2f}" if at < len(spreads) and _there(spreads[at]) else ""


def _there(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _escaped_all(values: Sequence[float | str]) -> list[Any]:
    """Values for JSON and Plotly: names are escaped, and numbers that are not finite become null."""
    return [_escaped(value) if isinstance(value, str) else (value if isfinite(value) else None) for value in values]


def _escaped(words: str) -> str:
    """Escapes a text, because Plotly reads tags in all its texts."""
    return html.escape(words, quote=False)
