"""What the report shows of the runs of a store: figures, tables and every run, put into its page."""

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from analysis.figures import FIGURES, style
from analysis.figures.asked import Asked, Metrics
from analysis.figures.drawing import Drawing
from analysis.figures.sensitivity import varied
from analysis.report.overview import overview
from analysis.report.page import page
from analysis.report.plotly_figure import charts
from analysis.report.run_curves import curves_payload
from analysis.report.runs import one_each, runs_payload
from analysis.report.table_page import table_pages
from analysis.rows import Row
from plasticity_lab.errors import ConfigError
from plasticity_lab.version import version_line

ORDER = (
    "first_last", "curves", "figure6", "figureF1", "figureE1", "two_orders", "figure1", "figureC1", "figureC2",
    "figureC3", "figure2", "figure3", "figure4", "figureD1", "atari",
)  # fmt: skip
"""Of figures; then what each setting that was varied does."""
MOST = 6
"""Settings whose sensitivity is shown."""


def report(
    rows: Sequence[Row], metrics: Metrics, places: Sequence[Path], left_out: Sequence[str], again: int | None = None
) -> str:
    """The page.  left_out: sentences on what could not be read, to which reading metrics may add. again: after how many
    seconds an open page is to load itself anew; None: never.

    Raises ConfigError where a library that it needs is not installed.
    """
    runs, settings = sorted(one_each(rows), key=_as_asked), varied(rows)
    figures: list[dict[str, Any]] = []
    drawn: list[dict[str, Any]] = []
    for drawing in _drawings(rows, metrics, settings[:MOST]):
        made = charts(drawing)
        numbers = range(len(drawn), len(drawn) + len(made))
        figures.append({"title": drawing.title, "charts": numbers, "caption": drawing.caption})
        drawn += made
    if more := settings[MOST:]:
        words = f"`python -m analysis figure sensitivity --by` draws them: {', '.join(more)}."
        figures.append({"title": "Sensitivity to other settings", "charts": range(0), "caption": [words]})
    alike = _said_of_all([figure["caption"] for figure in figures if figure["charts"]])
    for figure in figures:
        figure["caption"] = [sentence for sentence in figure["caption"] if sentence not in alike]
    curves = curves_payload(runs, metrics)
    shown = {
        "title": f"plasticity_lab: {', '.join(place.resolve().name for place in places)}",
        "made": datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        "version": version_line(),
        "stores": ", ".join(map(str, places)),
        "command": shlex.join(["python", "-m", "analysis", "report", "--store", *map(str, places)]),
        "overview": overview(rows),
        "left_out": list(dict.fromkeys(left_out)),
        "figures": figures,
        "of_all_figures": alike,
        "tables": table_pages(rows, metrics),
    }
    data = {
        "charts": drawn,
        "runs": runs_payload(runs),
        "again": again,
        "curves": curves,
        "style": {"colours": style.COLOURS, "grid": style.GRID, "layout": style.SMALL_CHART},
    }
    return page(shown, data)


def _as_asked(row: Row) -> tuple[Any, ...]:
    """Where a run stands in a list: as people ask for runs, seeds last, and not by the hash that is its id."""
    own = sorted(row.own.items(), key=lambda setting: setting[0])
    numbers = [(name, value if isinstance(value, int | float) else 0, str(value)) for name, value in own]
    seeds = [-1 if seed is None else seed for seed in row.seeds]
    study = str(sorted(row.study.items(), key=lambda setting: setting[0]))
    return row.benchmark, row.protocol, row.schedule, row.intervention, row.activation, numbers, study, seeds


def _said_of_all(captions: Sequence[Sequence[str]]) -> list[str]:
    """The sentences that stand below every figure, where there are several: they are said once."""
    if len(captions) < 2:
        return []
    return [sentence for sentence in captions[0] if all(sentence in caption for caption in captions)]


def _drawings(rows: Sequence[Row], metrics: Metrics, settings: Sequence[str]) -> list[Drawing]:
    """Every figure that the runs can make; of sensitivity to these settings."""
    asked = [(FIGURES[name], Asked(rows, metrics)) for name in ORDER]
    asked += [(FIGURES["sensitivity"], Asked(rows, metrics, by=name)) for name in settings]
    return [drawing for figure, of in asked if (drawing := _drawn(figure, of))]


def _drawn(figure: Callable[[Asked], Drawing], asked: Asked) -> Drawing | None:
    """The drawing; None where there are no runs for it."""
    try:
        drawing = figure(asked)
    except ConfigError:
        return None
    return drawing if any(series.x for panel in drawing.panels for series in panel.series) else None
