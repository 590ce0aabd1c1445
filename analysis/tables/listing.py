"""A table in a form for every format: headings, lines of words, a caption; and the selection of columns."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from plasticity_lab.errors import ConfigError

NOTHING = "–"
"""The mark of a missing value."""


@dataclass(frozen=True)
class Listing:
    """A table as words.

    name: the name of its files.
    header, body: the headings and the lines of cells, all with the same number of columns.
    lines: the lines of its CSV, column → value.
    right: the columns that are aligned to the right.
    long: the columns with cells that may be broken into lines.
    bold: the (line, column) of each bold cell.
    notes: (line, column) → words after a cell, which are never bold.
    caption: its sentences, each on its own line.
    blocks: if a narrow window splits the table into several, the sets of columns that stay together; each part also has
    the first column. Empty if the table is never split.
    heading: the start of the LaTeX caption; None: the title.
    is_ours: whether anything in it comes from runs or from conf/.
    """

    name: str
    title: str
    header: Sequence[str]
    body: Sequence[Sequence[str]]
    lines: Sequence[Mapping[str, object]]
    right: frozenset[int] = frozenset()
    long: frozenset[int] = frozenset()
    bold: frozenset[tuple[int, int]] = frozenset()
    notes: Mapping[tuple[int, int], str] = field(default_factory=dict)
    caption: Sequence[str] = ()
    blocks: Sequence[Sequence[int]] = ()
    heading: str | None = None
    is_ours: bool = True


def formatted(listing: Listing, bold: Callable[[str], str], escape: Callable[[str], str]) -> Listing:
    """The listing with headings and cells in one format: escaped, bold where marked, with their notes."""
    body = []
    for line, cells in enumerate(listing.body):
        words = [bold(escape(cell)) if (line, at) in listing.bold else escape(cell) for at, cell in enumerate(cells)]
        body.append([word + escape(listing.notes.get((line, at), "")) for at, word in enumerate(words)])
    header = [escape(heading) for heading in listing.header]
    return replace(listing, header=header, body=body, bold=frozenset(), notes={})


def signed(value: float, places: int) -> str:
    """A difference with its sign; a difference that rounds to 0 has no sign."""
    rounded = round(value, places)
    return f"{rounded:+,.{places}f}" if rounded else f"{0:,.{places}f}"


def with_sd(number: Callable[[float], str], mean: float | None, sd: float | None) -> str:
    """A mean and, if it has one, its SD, both formatted by `number`; `NOTHING` without a mean."""
    if mean is None:
        return NOTHING
    return number(mean) if sd is None else f"{number(mean)} ± {number(sd)}"


def fields(source: object | None, *names: str) -> dict[str, object]:
    """Fields of an object as columns of a CSV; None in each column if the object is None."""
    return {name: getattr(source, name, None) for name in names}


def add_columns(command: argparse.ArgumentParser) -> None:
    """Adds the option of a command that shows tables."""
    command.add_argument(
        "--columns", nargs="+", metavar="HEADING", help="only these columns, in this order; CSV has all"
    )


def with_columns(listings: Sequence[Listing], names: Sequence[str] | None) -> list[Listing]:
    """The tables with their first column and the columns with these headings, in this order; None: with all columns.

    A heading may be given without its brackets, as "IQM" for "IQM [95 %]". The lines of the CSV stay complete.
    Raises ConfigError, with the existing headings, if no table has one of the given headings.
    """
    if names is None:
        return [*listings]
    for name in names:
        if not any(_place(listing, name) for listing in listings):
            there = dict.fromkeys(heading for listing in listings for heading in listing.header[1:])
            raise ConfigError(f"No table here has a column '{name}'; --columns takes {'; '.join(there)}.")
    return [_with(listing, [place for name in names if (place := _place(listing, name))]) for listing in listings]


def _place(listing: Listing, name: str) -> int | None:
    """The index of the column with that heading, the first column excluded; None if no column has it."""
    for place, heading in enumerate(map(str.casefold, listing.header)):
        if place and name.casefold() in (heading, heading.partition(" [")[0]):
            return place
    return None


def _with(listing: Listing, chosen: Sequence[int]) -> Listing:
    places = [0, *chosen]
    new = {place: at for at, place in enumerate(places)}
    return replace(
        listing,
        header=[listing.header[place] for place in places],
        body=[[line[place] for place in places] for line in listing.body],
        right=frozenset(new[place] for place in listing.right if place in new),
        long=frozenset(new[place] for place in listing.long if place in new),
        bold=frozenset((line, new[place]) for line, place in listing.bold if place in new),
        notes={(line, new[place]): words for (line, place), words in listing.notes.items() if place in new},
        blocks=(),
    )
