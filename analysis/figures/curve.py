"""The course of one run as a picture: what it measured, a panel for each unit."""

import hashlib
import json
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
"""Of more a line alone is drawn."""
COARSE_POINTS = 10
"""Where there are fewer tasks than that, what is measured more often is drawn as often: one task would be one point."""
BEGINNING = 4096
"""Bytes of a PNG that hold its comment."""


def draw_curve(path: Path, table: pa.Table, declared: Declared, title: str, diverged_at: int | None) -> None:
    """Writes a PNG of a run's metrics, against its steps.  No screen is needed.  Raises StoreError.

    table: as metrics.parquet has it. declared: what its columns are. diverged_at: the step at which the run diverged,
    which gets a mark. A picture that was drawn of the same by the same code stays as it is.
    """
    shows = _digest(table, declared, title, diverged_at)
    if _is_drawn(path, shows):
        return
    # Half a second; a picture drawn before, and a curve in letters, do without.
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
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=DOTS, metadata={"Comment": shows}))


def _digest(table: pa.Table, declared: Declared, title: str, diverged_at: int | None) -> str:
    """64 hex digits of all that a picture shows, and of the code that draws it."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update(json.dumps([declared.as_json(), title, diverged_at], sort_keys=True).encode())
    columns = pa.BufferOutputStream()
    with pa.ipc.new_stream(columns, table.schema) as written:
        written.write_table(table)
    digest.update(columns.getvalue())
    return digest.hexdigest()


def _is_drawn(path: Path, shows: str) -> bool:
    """Whether the file is a picture of this already."""
    try:
        with path.open("rb") as file:
            return shows.encode() in file.read(BEGINNING)
    except OSError:
        return False


def panels_of(declared: Declared) -> list[tuple[str, Sequence[Column]]]:
    """What stands beside each panel, and the columns in it: those of one unit; each without a unit has its own."""
    panels: dict[str, list[Column]] = {}
    for column in declared.curves:
        panels.setdefault(column.measure.unit or column.measure.title, []).append(column)
    return list(panels.items())


def _draw(axes: "Axes", table: pa.Table, column: Column) -> None:
    """A column from rows of one kind; tasks that do not count (not `hard`) are pale."""
    kind = kind_of(table, column)
    rows = rows_of(table, kind)
    easy = rows.slice(0, 0)
    if "hard" in rows.column_names and kind == "task":
        rows, easy = rows.filter(rows["hard"]), rows.filter(pc.invert(rows["hard"]))
    label = f"{column.measure.title} of {'an' if kind[0] == 'e' else 'a'} {kind}"
    style = ".-" if len(rows) <= FEW_POINTS else "-"
    (line,) = axes.plot(rows["step"].to_pylist(), values_of(rows, column), style, label=label)
    if len(easy):
        axes.plot(
            easy["step"].to_pylist(), values_of(easy, column), ".", color=line.get_color(), alpha=0.3,
            label=f"{label}, easy tasks",
        )  # fmt: skip


def rows_of(table: pa.Table, kind: str) -> pa.Table:
    """Those of one kind."""
    # To compare with a word of Python's, pyarrow imports pandas, which takes a fifth of a second; so does `to_numpy`.
    words = {word.as_py(): word for word in table["kind"].unique()}
    return table.filter(pc.call_function("equal", [table["kind"], words[kind]])) if kind in words else table.slice(0, 0)


def kind_of(table: pa.Table, column: Column) -> str:
    """The coarsest kind of rows that measures a column and is there often enough, else the finest that does."""
    kinds = column.own_kinds
    return next((kind for kind in kinds if len(rows_of(table, kind)) >= COARSE_POINTS), kinds[-1])


def values_of(rows: pa.Table, column: Column) -> NDArray[np.float64]:
    """In the column's unit; a value that is missing is nan."""
    return column.measure.scale * np.array(rows[column.name].to_pylist(), dtype=np.float64)
