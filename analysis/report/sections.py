"""The figures of the report: one section for each agent on each benchmark, and one for figures across sections."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.figures.drawing import Asked, Drawing, Metrics
from analysis.figures.named import FIGURES
from analysis.figures.sensitivity import varied
from analysis.names import BENCHMARKS, display
from analysis.report.plotly_figure import charts
from analysis.rows import Row
from plasticity_lab.errors import ConfigError

ORDER = (
    "first_last", "curves", "figure6", "figureF1", "figureE1", "two_orders", "figure1", "figureC1", "figureC2",
    "figureC3", "figure2", "figure3", "figure4", "figureD1", "atari",
)  # fmt: skip
"""The order of the figures. Other measurements come after `CURVES`; the effects of varied settings come last."""
CURVES = "curves"
MOST_CURVES, MOST_SETTINGS = 8, 6
"""The maximum numbers of columns of metrics with curves, and of settings with a figure of their sensitivity."""
ACROSS = "Across benchmarks and agents"


@dataclass(frozen=True)
class Figure:
    """A figure of the report.  charts: Plotly charts, side by side. caption: its sentences."""

    title: str
    charts: Sequence[dict[str, Any]]
    caption: Sequence[str]


@dataclass(frozen=True)
class Section:
    """A section of the report.  title: "" if a store needs only one section."""

    title: str
    figures: Sequence[Figure]


def sections(rows: Sequence[Row], metrics: Metrics) -> list[Section]:
    """The sections with a figure; the figures that need the runs of several sections come first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        title = f"{row.study.get('agent.name', '')} · {display(BENCHMARKS, row.benchmark)}".removeprefix(" · ")
        groups.setdefault(title, []).append(row)
    if len(groups) < 2:
        made = {"": _figures(rows, metrics, varied(rows))}
    else:
        made = {title: _figures(group, metrics, varied(group)) for title, group in sorted(groups.items())}
        known = {name for figures in made.values() for name in figures}
        made = {ACROSS: _figures(rows, metrics, (), leaving_out=known), **made}
    return [Section(title, [*figures.values()]) for title, figures in made.items() if figures]


def _figures(
    rows: Sequence[Row], metrics: Metrics, settings: Sequence[str], leaving_out: Collection[str] = ()
) -> dict[str, Figure]:
    """Name → figure, for every figure that the runs can make; a figure has the same name in all sections.

    settings: the varied settings. leaving_out: the names of figures to leave out.
    """
    found: dict[str, Figure] = {}
    of_rows = Asked(rows, metrics)
    asked = [(name, FIGURES[name], of_rows) for name in ORDER]
    for name in settings[:MOST_SETTINGS]:
        asked.append((f"sensitivity to {name}", FIGURES["sensitivity"], replace(of_rows, by=name)))
    for name, figure, of in asked:
        if name not in leaving_out and (drawing := _drawn(figure, of)):
            found[name] = Figure(drawing.title, charts(drawing), drawing.caption)
        if name == CURVES and CURVES in found and (others := _other_curves(of_rows)):
            found["other curves"] = others
    if more := settings[MOST_SETTINGS:]:
        words = f"`python -m analysis figure sensitivity --by` draws them: {', '.join(more)}."
        found["more settings"] = Figure("Sensitivity to other settings", [], [words])
    return found


def _other_curves(asked: Asked) -> Figure | None:
    """The curves of all other measurements of the runs, diagnostics included; None if the runs have no others."""
    columns = {column.name: column for row in asked.rows for column in row.declared.curves[1:]}
    first = {row.declared.curves[0].name for row in asked.rows if row.declared.curves}
    names = [name for name in columns if name not in first]
    drawings = [_drawn(FIGURES[CURVES], replace(asked, metric=name)) for name in names[:MOST_CURVES]]
    drawn = [drawing for drawing in drawings if drawing]
    if not drawn:
        return None
    caption = list(dict.fromkeys(sentence for drawing in drawn for sentence in drawing.caption))
    if more := names[MOST_CURVES:]:
        caption.append(f"`python -m analysis figure curves --metric` draws more: {', '.join(more)}.")
    shown = []
    for drawing in drawn:  # the title of each panel names the measurement
        panels = [replace(panel, title=f"{panel.y_label}: {panel.title}") for panel in drawing.panels]
        shown += charts(replace(drawing, panels=panels))
    return Figure("Further measurements during runs", shown, caption)


def _drawn(figure: Callable[[Asked], Drawing], asked: Asked) -> Drawing | None:
    """The drawing; None if no run has values for it."""
    try:
        drawing = figure(asked)
    except ConfigError:
        return None
    return drawing if any(series.x for panel in drawing.panels for series in panel.series) else None
