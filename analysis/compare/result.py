"""A comparison in every form: tables in every format, a figure, and the files of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import track

from analysis.asked import rows_of_stores, write
from analysis.compare.caption import caption, pairs_caption
from analysis.compare.comparison import Comparison, comparison
from analysis.compare.drawing import TABLES, drawing
from analysis.compare.listing import arms_table, name_of, pairs_table
from analysis.compare.shape import shape_said
from analysis.figures.drawing import Drawing
from analysis.figures.files import files_of
from analysis.frames import metrics_of
from analysis.origin import origin
from analysis.tables.listing import Listing
from analysis.tables.render import csv_text, latex, markdown, text
from analysis.tables.table import Metrics
from analysis.where import chosen
from plasticity_lab.errors import StoreError
from plasticity_lab.process.account import expanded


@dataclass(frozen=True)
class Result:
    """found: the numbers. listings: the tables. drawing: the figure, None if none was requested."""

    found: Comparison
    listings: Sequence[Listing]
    drawing: Drawing | None

    @property
    def once(self) -> list[Listing]:
        """The tables below each other; a sentence is not repeated below the next table."""
        known: set[str] = set()
        found = []
        for each in self.listings:
            found.append(replace(each, caption=[words for words in each.caption if words not in known]))
            known.update(each.caption)
        return found

    def text(self) -> str:
        """For a file or a pipe, within 100 columns."""
        return text(self.once)

    def markdown(self) -> str:
        """GitHub's Markdown."""
        return markdown(self.listings)

    def latex(self) -> str:
        """One table environment per table."""
        return latex(self.listings)

    def csv(self) -> str:
        """One line for each arm and each pair, with unrounded numbers."""
        return csv_text(self.listings)

    def write(self, folder: "str | Path") -> str:
        """Writes every format, the runs of the table, and the figure.  Returns where.  Raises StoreError."""
        folder = Path(folder)
        name = name_of(self.found.by)
        files = {"txt": self.text(), "md": self.markdown(), "csv": self.csv(), "tex": self.latex()}
        files["json"] = origin(self.found.rows)
        for ending, content in files.items():
            write(folder / f"{name}.{ending}", content.encode())
        written = f"Written: {folder / name}.{{{','.join(files)}}}"
        if self.drawing is None:
            return written
        if not self.drawing.panels:
            return f"{written}. No figure: no arm has a value."
        drawn = files_of(self.drawing)
        for ending, content in drawn.items():
            write(folder / f"{name}_figure.{ending}", content)
        return f"{written} and {name}_figure.{{{','.join(drawn)}}}"


def shown(
    found: Comparison,
    metrics: Metrics | None,
    metric: str | None,
    notes: Iterable[str],
    progress: Console | None = None,
) -> Result:
    """A comparison with its tables and its figure.

    metrics: reads the metrics.parquet of runs; None: no figure. metric: the compared metric, if one was named.
    notes: sentences for the first caption. progress: the terminal that shows the progress of the figure.
    """
    listings: list[Listing] = []
    for each in found.shown:
        said = [] if listings else [*shape_said(found.shown), *found.notes, *notes]
        listings.append(replace(arms_table(each), caption=caption(each, said)))
        if each.shows_pairs:
            listings.append(replace(pairs_table(each), caption=pairs_caption(each)))
    if metrics is None:
        return Result(found, listings, None)
    tables = found.shown[:TABLES]
    if progress is not None and progress.is_terminal:
        tables = track(tables, "comparing", console=progress, transient=True)
    return Result(found, listings, drawing(found, metrics, metric, tables))


def compare(
    store: "str | Path | Sequence[str | Path]" = "store",
    by: str | None = None,
    against: str | None = None,
    metric: str | None = None,
    where: Mapping[str, object] | None = None,
    pairs: bool | None = None,
    figure: bool = True,
) -> Result:
    """Compares the runs of one or several stores by a setting, as `python -m analysis compare` does.

    by: the key of a setting, as "intervention"; None: the only setting that differs. against: the arm that others are
    compared with, or "best". where: keys and the values that a run must have, as in `analysis.load`.
    Raises StoreError, ConfigError.
    """
    places = [expanded(one) for one in ([store] if isinstance(store, str | Path) else store)]
    told: list[str] = []
    rows = rows_of_stores(places, lambda sentence: told.append(f"Left out: {sentence}"))
    if all(row.status == "waiting" for row in rows):
        raise StoreError(f"No run in {' and '.join(map(str, places))} has ended; train some, or name another store.")
    rows = chosen(rows, where or {})
    found = comparison(rows, by, against, metric, pairs)
    return shown(found, partial(metrics_of, places, rows) if figure else None, metric, told)
