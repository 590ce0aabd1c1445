"""A table whose cells are words: settings, schedules, grids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Listing:
    """A table of words, as every rendering shows it.

    name: of its files. header, body: as wide as each other. align: of its columns; all to the left, where nothing is
    said. long: the columns whose cells may be broken into lines. bold: (line, column) of cells. caption: its sentences,
    one a line. lines: what its CSV has, column → value. is_ours: whether anything in it is from runs, or from conf/.
    """

    name: str
    title: str
    header: Sequence[str]
    body: Sequence[Sequence[str]]
    caption: Sequence[str]
    lines: Sequence[Mapping[str, object]]
    align: Sequence[Literal["left", "right"]] = ()
    long: frozenset[int] = frozenset()
    bold: frozenset[tuple[int, int]] = frozenset()
    is_ours: bool = True
