"""Some columns of a table, for a page that has no room for all."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace

from analysis.tables.listing import Listing
from plasticity_lab.errors import ConfigError


def add_columns(command: argparse.ArgumentParser) -> None:
    """The option of a command that shows tables."""
    command.add_argument(
        "--columns", nargs="+", metavar="HEADING", help="only these columns, in this order; CSV has all"
    )


def with_columns(listings: Sequence[Listing], names: Sequence[str] | None) -> list[Listing]:
    """The tables with their first column and those of these headings, in the order asked for; all where none is named.

    A heading may be given without what stands in brackets, as "IQM" of "IQM [95 %]". The lines of the CSV stay whole.
    Raises ConfigError, naming the headings, where no table has one of them.
    """
    if names is None:
        return [*listings]
    for name in names:
        if not any(_place(listing, name) for listing in listings):
            there = dict.fromkeys(heading for listing in listings for heading in listing.header[1:])
            raise ConfigError(f"No table here has a column '{name}'; --columns takes {'; '.join(there)}.")
    return [_of(listing, names) for listing in listings]


def _place(listing: Listing, name: str) -> int | None:
    """Of a column; None where there is none of that heading. The first is there anyway."""
    wanted = name.casefold()
    headings = [heading.casefold() for heading in listing.header]
    short = [heading.partition(" [")[0] for heading in headings]
    found = [place for place in range(1, len(headings)) if wanted in (headings[place], short[place])]
    return found[0] if found else None


def _of(listing: Listing, names: Iterable[str]) -> Listing:
    places = [0, *(place for name in names if (place := _place(listing, name)))]
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
