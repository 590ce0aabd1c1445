"""`python -m analysis report`: everything that a store holds, as one HTML page that needs no network."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from analysis.figures import FIGURES, style
from analysis.figures.asked import Asked, Metrics
from analysis.figures.drawing import Drawing
from analysis.report.overview import overview
from analysis.report.page import page
from analysis.report.plotly_figure import charts
from analysis.report.run_curves import curves_payload
from analysis.report.runs import one_each, runs_payload
from analysis.report.table_page import TablePage, table_page
from analysis.rows import Row, varying
from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.headline import HEADLINE
from plasticity_lab.errors import ConfigError
from plasticity_lab.version import version_line

ORDER = ("first_last", "curves", "figureE1", "two_orders")
"""Of figures; then what each setting that was varied does."""
MOST = 6
"""Settings whose sensitivity is shown."""


def report(rows: Sequence[Row], metrics: Metrics, stores: Sequence[Path], left_out: Sequence[str]) -> str:
    """The page.  Raises ConfigError where a library that it needs is not installed."""
    runs = one_each(rows)
    figures, drawn = [], []
    for drawing in _drawings(rows, metrics):
        made = charts(drawing)
        numbers = range(len(drawn), len(drawn) + len(made))
        figures.append({"title": drawing.title, "charts": numbers, "caption": drawing.caption})
        drawn += made
    names = " and ".join(str(place) for place in stores)
    shown = {
        "title": f"plasticity_lab: {' and '.join(place.resolve().name for place in stores)}",
        "made": datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        "version": version_line(),
        "stores": names,
        "command": f"python -m analysis report --store {' '.join(map(str, stores))}",
        "overview": overview(rows),
        "left_out": left_out,
        "figures": figures,
        "tables": _tables(rows),
    }
    data = {
        "charts": drawn,
        "runs": runs_payload(runs),
        "curves": curves_payload(runs, metrics),
        "style": {"colours": style.COLOURS, "grid": style.GRID, "layout": style.SMALL_CHART},
    }
    return page(shown, data)


def _drawings(rows: Sequence[Row], metrics: Metrics) -> list[Drawing]:
    """Every figure that the runs can make."""
    asked = [(FIGURES[name], Asked(rows, metrics)) for name in ORDER]
    asked += [(FIGURES["sensitivity"], Asked(rows, metrics, by=name)) for name in _varied(rows)[:MOST]]
    return [drawing for figure, of in asked if (drawing := _drawn(figure, of))]


def _drawn(figure: Callable[[Asked], Drawing], asked: Asked) -> Drawing | None:
    """The drawing; None where there are no runs for it."""
    try:
        drawing = figure(asked)
    except ConfigError:
        return None
    return drawing if any(series.x for panel in drawing.panels for series in panel.series) else None


def _varied(rows: Sequence[Row]) -> list[str]:
    """The settings in which runs of one activation on one benchmark differ."""
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((row.activation, row.benchmark, row.intervention), []).append({**row.study, **row.own})
    return sorted({name for settings in alike.values() for name in varying(settings)})


def _tables(rows: Sequence[Row]) -> list[TablePage]:
    """Every table of the papers that the runs can feed."""
    pages = []
    for table in TABLES.values():
        able = [
            row
            for row in rows
            if row.summary.get(table.cell or row.declared.headline) is not None or row.status != "done"
        ]
        measured = [row for row in able if table is HEADLINE or table.cell in row.declared.summaries]
        if any(row.status == "done" for row in measured):
            pages += [table_page(result) for result in build(table, measured)]
    return pages
