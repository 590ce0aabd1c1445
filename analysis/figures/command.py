"""`python -m analysis figure NAME`: writes a figure as PDF, SVG and PNG, and the data it shows as CSV."""

from collections.abc import Callable, Sequence
from pathlib import Path

from analysis.figures import FIGURES
from analysis.figures.asked import Asked, Metrics
from analysis.figures.numbers import csv_text
from analysis.figures.static import pictures
from analysis.rows import Row
from plasticity_lab.errors import ConfigError

Write = Callable[[Path, bytes], None]


def write_figure(
    name: str, rows: Sequence[Row], metrics: Metrics, out: Path, write: Write, *, metric: str | None, by: str | None
) -> None:
    """Draws it into a folder, and prints what stands below it.  Raises ConfigError where it cannot be drawn."""
    drawing = figure_named(name)(Asked(rows, metrics, metric, by))
    files = {**pictures(drawing), "csv": csv_text(drawing).encode()}
    for ending, content in files.items():
        write(out / f"{name}.{ending}", content)
    print("\n".join([drawing.title, *drawing.caption]))
    print(f"Written: {out / name}.{{{','.join(files)}}}")


def figure_named(name: str) -> Callable:
    """The function that draws it.  Raises ConfigError, naming those there are."""
    if name not in FIGURES:
        raise ConfigError(f"There is no figure '{name}'; there are {', '.join(FIGURES)}.")
    return FIGURES[name]
