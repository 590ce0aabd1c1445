"""The curves of one run: a picture with one panel per unit, and the first panel as text for a terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from plasticity_lab.records.files import write_atomically
from plasticity_lab.records.measures import Column, Declared

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT, DOTS = 8.0, 3.0, 150
"""Inches of a panel, and dots to each."""
FEW_POINTS = 60
"""With more points than this, only the line is drawn."""
COARSE_POINTS = 10
"""With fewer tasks, a column that is measured more often is drawn at that rate; one task would be one point."""
NARROWEST, LOWEST = 40, 8
"""Columns and lines that a terminal needs for a readable curve."""


def draw_curve(path: Path, table: pa.Table, declared: Declared, title: str, diverged_at: int | None) -> None:
    """Writes a PNG of a run's metrics, against its steps.  No screen is needed.  Raises StoreError.

    table: the content of metrics.parquet. declared: the meaning of its columns. diverged_at: the step to mark, if
    the run diverged.
    """
    # Half a second to import; a curve as text does not need it.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = panels_of(declared)
    figure = Figure(figsize=(WIDTH, HEIGHT * len(panels)), layout="constrained")
    FigureCanvasAgg(figure)
    drawn = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (label, columns) in zip(drawn, panels, strict=True):
        for column in columns:
            _draw(axes, table, column)
        axes.set_ylabel(label)
        if diverged_at is not None:
            axes.axvline(diverged_at, color="tab:red", linestyle="--", label="diverged")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", framealpha=0.6)
    drawn[0].set_title(title)
    drawn[-1].set_xlabel("step")
    drawn[-1].xaxis.set_major_formatter("{x:,.0f}")
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=DOTS))


def terminal_curve(table: pa.Table, declared: Declared, title: str, width: int, height: int, colours: bool) -> str:
    """The lines of the first panel of `draw_curve`, against the run's steps, within this width and height."""
    import plotext

    label, columns = panels_of(declared)[0]
    plotext.clear_figure()
    plotext.theme("pro" if colours else "clear")
    plotext.plotsize(max(width, NARROWEST), max(height, LOWEST))
    for column in columns:
        rows, words = _rows_and_label(table, column)
        points = zip(rows["step"].to_pylist(), _values(rows, column).tolist(), strict=True)
        points = [(step, value) for step, value in points if value == value]  # not nan
        if points:
            plotext.plot(*zip(*points, strict=True), label=words, marker="braille" if len(points) > 1 else "dot")
    plotext.title(title)
    plotext.xlabel("step")
    plotext.ylabel(label)
    built = str(plotext.build())
    return built if colours else plotext.uncolorize(built)


def panels_of(declared: Declared) -> list[tuple[str, Sequence[Column]]]:
    """The label and the columns of each panel: columns with the same unit share one, others have a separate panel."""
    panels: dict[str, list[Column]] = {}
    for column in declared.curves:
        panels.setdefault(column.measure.unit or column.measure.title, []).append(column)
    return list(panels.items())


def _draw(axes: "Axes", table: pa.Table, column: Column) -> None:
    """Draws a column from rows of one kind; tasks that do not count (not `hard`) are pale."""
    rows, label = _rows_and_label(table, column)
    easy = rows.slice(0, 0)
    if "hard" in rows.column_names and label.endswith(" task"):
        rows, easy = rows.filter(rows["hard"]), rows.filter(pc.invert(rows["hard"]))
    style = ".-" if len(rows) <= FEW_POINTS else "-"
    (line,) = axes.plot(rows["step"].to_pylist(), _values(rows, column), style, label=label)
    if len(easy):
        steps, pale = easy["step"].to_pylist(), f"{label}, easy tasks"
        axes.plot(steps, _values(easy, column), ".", color=line.get_color(), alpha=0.3, label=pale)


def _rows_and_label(table: pa.Table, column: Column) -> tuple[pa.Table, str]:
    """The rows of the coarsest kind that measures a column often enough, otherwise of the finest; and their label."""
    kinds = column.own_kinds
    kind = next((kind for kind in kinds if len(_of_kind(table, kind)) >= COARSE_POINTS), kinds[-1])
    return _of_kind(table, kind), f"{column.measure.title} of {'an' if kind[0] == 'e' else 'a'} {kind}"


def _of_kind(table: pa.Table, kind: str) -> pa.Table:
    # To compare with a Python string, pyarrow imports pandas (a fifth of a second), and so does `to_numpy`.
    words = {word.as_py(): word for word in table["kind"].unique()}
    return table.filter(pc.call_function("equal", [table["kind"], words[kind]])) if kind in words else table.slice(0, 0)


def _values(rows: pa.Table, column: Column) -> NDArray[np.float64]:
    """The values in the column's unit; missing values are nan."""
    return column.measure.scale * np.array(rows[column.name].to_pylist(), dtype=np.float64)
