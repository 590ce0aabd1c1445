"""A comparison with all that it is shown as: tables in every format, a figure, and the files of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import track

from analysis.asked import rows_of_stores, write
from analysis.compare.caption import caption, pairs_caption
from analysis.compare.comparison import LEVEL, Compared, Comparison, comparison
from analysis.compare.drawing import drawing
from analysis.compare.listing import (
    about,
    arms_table,
    better_words,
    difference_words,
    measure_of,
    name_of,
    pair_line,
    test_words,
    title_of,
)
from analysis.compare.pair import Pair
from analysis.figures.asked import Metrics
from analysis.figures.drawing import Drawing
from analysis.figures.numbers import csv_text as numbers_csv
from analysis.figures.stored import as_json
from analysis.frames import metrics_of
from analysis.origin import origin
from analysis.rows import Row
from analysis.tables.listing import NOTHING, Listing, signed
from analysis.tables.render import csv_text, latex, markdown, text
from analysis.where import chosen
from plasticity_lab.errors import StoreError
from plasticity_lab.process.account import expanded


@dataclass(frozen=True)
class Result:
    """found: the numbers. listings: the tables. drawing: the figure, where one was asked for."""

    found: Comparison
    listings: Sequence[Listing]
    drawing: Drawing | None

    @property
    def once(self) -> list[Listing]:
        """The tables below each other, where a sentence need not be said again below the next."""
        known: set[str] = set()
        found = []
        for each in self.listings:
            found.append(replace(each, caption=[words for words in each.caption if words not in known]))
            known.update(each.caption)
        return found

    def text(self) -> str:
        """As a file or a pipe has it, within 100 columns."""
        return text(self.once)

    def markdown(self) -> str:
        """GitHub's Markdown."""
        return markdown(self.listings)

    def latex(self) -> str:
        """A table environment each."""
        return latex(self.listings)

    def csv(self) -> str:
        """A line for each arm and each pair, every number in full."""
        return csv_text(self.listings)

    def write(self, folder: "str | Path") -> str:
        """Writes every format, what the table was made of, and the figure.  Returns where.  Raises StoreError."""
        folder = Path(folder)
        name = name_of(self.found.by)
        files = {"txt": self.text(), "md": self.markdown(), "csv": self.csv(), "tex": self.latex()}
        for ending, content in {**files, "json": origin(self.found.rows)}.items():
            write(folder / f"{name}.{ending}", content.encode())
        written = f"Written: {folder / name}.{{{','.join([*files, 'json'])}}}"
        if self.drawing is None:
            return written
        if not self.drawing.panels:
            return f"{written}. No figure: no arm has a value."
        from analysis.figures.static import pictures  # matplotlib: half a second

        drawn = {**pictures(self.drawing), "csv": numbers_csv(self.drawing).encode()}
        drawn["json"] = as_json(self.drawing).encode()
        for ending, content in drawn.items():
            write(folder / f"{name}_figure.{ending}", content)
        return f"{written} and {name}_figure.{{{','.join(drawn)}}}"


def compared(
    rows: Sequence[Row],
    metrics: Metrics,
    by: str | None = None,
    against: str | None = None,
    metric: str | None = None,
    pairs: bool | None = None,
    figure: bool = True,
    notes: Iterable[str] = (),
    progress: Console | None = None,
) -> Result:
    """Rows as a comparison with its tables and its figure; see `comparison`.

    metrics: reads what runs measured along their way. notes: sentences for the first caption. progress: where it is
    shown how far long work is; nowhere, where that is no terminal or None.
    """
    found = comparison(rows, by, against, metric, pairs)
    listings: list[Listing] = []
    first = [*found.notes, *notes]
    for each in found.shown:
        said = caption(each, dict(found.measures[id(each.section)]), [] if listings else first)
        listings.append(replace(arms_table(each), caption=said))
        if each.shows_pairs:
            listings.append(replace(pairs_table(each), caption=pairs_caption(each)))
    shown = partial(_tracked, progress=progress)
    return Result(found, listings, drawing(found, metrics, metric, shown) if figure else None)


def compare(
    store: "str | Path | Sequence[str | Path]" = "store",
    by: str | None = None,
    against: str | None = None,
    metric: str | None = None,
    where: Mapping[str, object] | None = None,
    pairs: bool | None = None,
    figure: bool = True,
) -> Result:
    """The runs of a store, or of several, compared by a setting, as `python -m analysis compare` does it.

    by: the key of a setting, as "intervention"; None: the only one in which the runs differ. against: the arm with
    which others are compared, or "best". where: keys and the values that a run must have, as `analysis.load` takes
    them.  Raises StoreError, ConfigError.
    """
    places = [expanded(one) for one in ([store] if isinstance(store, str | Path) else store)]
    told: list[str] = []
    rows = rows_of_stores(places, lambda sentence: told.append(f"Left out: {sentence}"))
    if all(row.status == "waiting" for row in rows):
        raise StoreError(f"No run in {' and '.join(map(str, places))} has ended; train some, or name another store.")
    rows = chosen(rows, where or {})
    return compared(rows, partial(metrics_of, places, rows), by, against, metric, pairs, figure, told)


def _tracked(items: Iterable[Compared], progress: Console | None) -> Iterable[Compared]:
    """The items, with a bar that says how many are done."""
    several = list(items)
    if progress is None or not progress.is_terminal:
        return several
    return track(several, "comparing", console=progress, transient=True)


# The table of all pairs of arms.

HEADER = ("pair", "difference [95 %]", "Welch p", "paired p", "Holm p", "g [95 %]", "P(better)")


def pairs_table(compared: Compared) -> Listing:
    """A pair a row: the first arm less the second, and how often a run of the first is the better."""
    return Listing(
        name=name_of(compared.by),
        title=f"{title_of(compared)}: all pairs",
        header=HEADER,
        body=[_fields(compared, pair) for pair in compared.pairs],
        lines=[
            {**about(compared), "kind": "pair", "arm": pair.ours, "against": pair.theirs, **pair_line(pair)}
            for pair in compared.pairs
        ],
        right=frozenset({2, 3, 4, 6}),
        bold=frozenset(
            (line, 4) for line, pair in enumerate(compared.pairs) if pair.holm is not None and pair.holm < LEVEL
        ),
        blocks=(range(1, 5), range(5, 7)),
    )


def _fields(compared: Compared, pair: Pair) -> list[str]:
    effect = pair.effect
    g = NOTHING if effect.g is None else signed(effect.g, 2)
    if effect.low is not None and effect.high is not None:
        g = f"{g} [{signed(effect.low, 2)}, {signed(effect.high, 2)}]"
    return [
        f"{pair.ours} − {pair.theirs}",
        difference_words(pair, measure_of(compared)),
        *test_words(pair),
        g,
        better_words(pair),
    ]
