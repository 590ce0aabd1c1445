"""The data that a figure shows, as CSV: a line for each point."""

import csv
import io
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from analysis.figures.drawing import Drawing
from analysis.tables.render import guarded

COLUMNS = (
    "figure", "panel", "series", "activation", "x_is", "x", "x_sd", "y_is", "y", "y_sd", "y_low", "y_high", "n",
    "runs",
)  # fmt: skip


def csv_text(drawing: Drawing) -> str:
    """Every number in full, with what it is; `runs` are the ids of the runs behind it."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for panel in drawing.panels:
        for series in panel.series:
            points: Iterator[tuple[Any, ...]] = zip_longest(
                series.x, series.x_sd, series.y, series.y_sd, series.y_range, series.n
            )
            for x, x_sd, y, y_sd, y_range, n in points:
                cells = [
                    drawing.name, panel.title, series.label, series.key, panel.x_label, x, x_sd, panel.y_label, y, y_sd,
                    *(y_range or ("", "")), n, " ".join(series.runs),
                ]  # fmt: skip
                writer.writerow([guarded(cell) for cell in cells])
    return file.getvalue()
