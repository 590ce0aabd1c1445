"""A table as every rendering shows it: headings, lines of words, a caption."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

NOTHING = "–"
"""What stands where there is no value."""


@dataclass(frozen=True)
class Listing:
    """A table as words.

    name: of its files. header, body: as wide as each other. lines: what its CSV has, column → value. right: the
    columns that are aligned to the right. long: the columns whose cells may be broken into lines. bold: (line, column)
    of cells. notes: (line, column) → what stands behind the words of a cell and is never bold. caption:
    its sentences, one a line. blocks: columns that stay together where the table is broken into several below each
    other, each behind the first column, since a window is too narrow for all; none where it is not broken. heading:
    what a LaTeX caption begins with, where that is not the title. is_ours: whether anything in it is from runs, or from
    conf/.
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
    """The listing with its headings and cells as a format has them: escaped, bold where they are, with their notes."""
    body = [
        [
            (bold(escape(cell)) if (line, place) in listing.bold else escape(cell))
            + escape(listing.notes.get((line, place), ""))
            for place, cell in enumerate(cells)
        ]
        for line, cells in enumerate(listing.body)
    ]
    header = [escape(heading) for heading in listing.header]
    return replace(listing, header=header, body=body, bold=frozenset(), notes={})


def signed(value: float, places: int) -> str:
    """A difference, with its sign; none before what is rounded to 0."""
    rounded = round(value, places)
    return f"{rounded:+,.{places}f}" if rounded else f"{0:,.{places}f}"
