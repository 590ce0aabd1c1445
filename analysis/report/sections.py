"""The figures of the report: a section for each agent on each benchmark, and one for what is seen across them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.figures.asked import Asked, Metrics
from analysis.figures.drawing import Drawing
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
"""Of figures; what else was measured along runs stands behind `BESIDE`, and last what each varied setting does."""
BESIDE = "curves"
MOST_CURVES, MOST_SETTINGS = 8, 6
"""Columns of metrics whose curves are shown, and settings whose sensitivity is."""
ACROSS = "Across benchmarks and agents"


@dataclass(frozen=True)
class Figure:
    """title. charts: what Plotly draws, side by side. caption: sentences."""

    title: str
    charts: Sequence[dict[str, Any]]
    caption: Sequence[str]


@dataclass
class Section:
    """title: "" where a store needs one section alone."""

    title: str
    figures: list[Figure] = field(default_factory=list)


def sections(rows: Sequence[Row], metrics: Metrics) -> list[Section]:
    """Those that have a figure. What the runs of no one section can make, but those of all, stands in front."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_title(row), []).append(row)
    if len(groups) < 2:
        alone = Section("", list(_figures(rows, metrics, varied(rows)).values()))
        return [alone] if alone.figures else []
    made = {title: _figures(group, metrics, varied(group)) for title, group in sorted(groups.items())}
    across = _figures(rows, metrics, (), leaving_out={name for figures in made.values() for name in figures})
    found = [Section(ACROSS, list(across.values()))]
    found += [Section(title, list(figures.values())) for title, figures in made.items()]
    return [section for section in found if section.figures]


def _title(row: Row) -> str:
    return f"{row.study.get('agent.name', '')} · {display(BENCHMARKS, row.benchmark)}".removeprefix(" · ")


def _figures(
    rows: Sequence[Row], metrics: Metrics, settings: Sequence[str], leaving_out: Iterable[str] = ()
) -> dict[str, Figure]:
    """Every figure that the runs can make, by what it is known by among those of another section.

    settings: those that were varied.
    """
    found: dict[str, Figure] = {}
    of_rows = Asked(rows, metrics)
    asked = [(name, FIGURES[name], of_rows) for name in ORDER]
    for name in settings[:MOST_SETTINGS]:
        asked.append((f"sensitivity to {name}", FIGURES["sensitivity"], replace(of_rows, by=name)))
    for name, figure, of in asked:
        if name not in leaving_out and (drawing := _drawn(figure, of)):
            found[name] = Figure(drawing.title, charts(drawing), drawing.caption)
        if name == BESIDE and BESIDE in found and (beside := _beside(of_rows)):
            found["beside"] = beside
    if more := settings[MOST_SETTINGS:]:
        words = f"`python -m analysis figure sensitivity --by` draws them: {', '.join(more)}."
        found["more settings"] = Figure("Sensitivity to other settings", [], [words])
    return found


def _beside(asked: Asked) -> Figure | None:
    """The curves of everything else that the runs measured, diagnostics among it; None where there is nothing."""
    columns = {column.name: column for row in asked.rows for column in row.declared.curves[1:]}
    first = {row.declared.curves[0].name for row in asked.rows if row.declared.curves}
    names = [name for name in columns if name not in first]
    drawings = [_drawn(FIGURES[BESIDE], replace(asked, metric=name)) for name in names[:MOST_CURVES]]
    drawn = [drawing for drawing in drawings if drawing]
    if not drawn:
        return None
    caption = list(dict.fromkeys(sentence for drawing in drawn for sentence in drawing.caption))
    if more := names[MOST_CURVES:]:
        caption.append(f"`python -m analysis figure curves --metric` draws more: {', '.join(more)}.")
    return Figure(
        "What else was measured along runs", [chart for each in drawn for chart in charts(_named(each))], caption
    )


def _named(drawing: Drawing) -> Drawing:
    """The drawing with what is measured in each panel's title, beside others of the same runs."""
    return replace(
        drawing, panels=[replace(panel, title=f"{panel.y_label}: {panel.title}") for panel in drawing.panels]
    )


def _drawn(figure: Callable[[Asked], Drawing], asked: Asked) -> Drawing | None:
    """The drawing; None where there are no runs for it."""
    try:
        drawing = figure(asked)
    except ConfigError:
        return None
    return drawing if any(series.x for panel in drawing.panels for series in panel.series) else None
