"""The course of one run as letters, for a terminal on a cluster: what it measured of the first unit that it has."""

import plotext
import pyarrow as pa

from analysis.figures.curve import kind_of, panels_of, rows_of, values_of
from plasticity_lab.records.measures import Declared

NARROWEST, LOWEST = 40, 8
"""Signs across and lines down: of less nothing could be read."""


def terminal_curve(table: pa.Table, declared: Declared, title: str, width: int, height: int, colours: bool) -> str:
    """The lines of the first panel of `draw_curve`, against the run's steps, within so many signs and lines."""
    label, columns = panels_of(declared)[0]
    plotext.clear_figure()
    plotext.theme("pro" if colours else "clear")
    plotext.plotsize(max(width, NARROWEST), max(height, LOWEST))
    for column in columns:
        kind = kind_of(table, column)
        rows = rows_of(table, kind)
        steps, values = rows["step"].to_pylist(), values_of(rows, column).tolist()
        points = [(step, value) for step, value in zip(steps, values, strict=True) if value == value]
        if points:
            words = f"{column.measure.title} of {'an' if kind[0] == 'e' else 'a'} {kind}"
            plotext.plot(*zip(*points, strict=True), label=words, marker="braille" if len(points) > 1 else "dot")
    plotext.title(title)
    plotext.xlabel("step")
    plotext.ylabel(label)
    return str(plotext.build())
