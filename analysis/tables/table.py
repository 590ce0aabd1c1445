"""What a table is: a declaration, and the neutral result that every rendering shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.reported.reported import Published
from analysis.statistics.hedges import Hedges
from analysis.statistics.paired import Paired
from analysis.statistics.welch import Welch
from plasticity_lab.records.measures import Measure


@dataclass(frozen=True)
class Table:
    """The declaration of a table of the papers.

    rows, columns: fields of `analysis.rows.Row`. cell: the summary value whose mean ± SD a cell shows; None: the one
    that the runs' agent names first. beside: summary values shown next to it (what the accuracy costs). reported: files
    in analysis/reported with the paper's values, which hold for `cell` and no other metric, and for runs without an
    intervention; source names them in words. level: of the significance test.
    """

    name: str
    title: str
    rows: str
    columns: str
    cell: str | None
    beside: Sequence[str]
    reported: Sequence[str]
    source: str
    level: float = 0.05


@dataclass(frozen=True)
class Cell:
    """The runs of one setting.

    mean, sd, values (in the metric's unit), runs (their ids), seeds and beside (means, as stored) are of the finished
    runs alone. expected: how many runs there should be. superseded: runs left out because the same settings and seed
    were run again later. flagged: what else the records of finished runs say of them → of how many. own: the settings
    that belong to the activation. best and significant are False for a cell with missing runs. against_next: Welch's
    test against the next best complete cell of the column, which `next` names; effect: how far they lie apart. Of the
    best of a column, paired: the paired test against the next, where both have the same seeds; holm: Welch's p
    corrected for the tests of all columns' best.
    """

    mean: float | None
    sd: float | None
    n: int
    expected: int
    diverged: int
    failed: int
    collapsed: int
    superseded: int
    values: Sequence[float]
    runs: Sequence[str]
    seeds: Sequence[tuple[int | None, ...]]
    beside: Mapping[str, float | None]
    own: Mapping[str, object]
    flagged: Mapping[str, int] = field(default_factory=dict)
    paper: Published | None = None
    best: bool = False
    significant: bool = False
    next: str | None = None
    against_next: Welch | None = None
    effect: Hedges | None = None
    paired: Paired | None = None
    holm: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every run that should be there has finished with a value."""
        return self.n > 0 and self.n == self.expected


@dataclass(frozen=True)
class RowHead:
    """A row: the name it stands for, and the settings that tell it from another row of the same name."""

    name: str
    settings: str
    label: str


@dataclass(frozen=True)
class Column:
    """A column: the name it stands for, its heading, and what the caption says of its runs and data."""

    name: str
    label: str
    data: str
    recency: bool


@dataclass(frozen=True)
class Result:
    """A table of one selection of runs: cells by (row, column); a pair without runs has no cell.

    metric: what the cells show. beside: what stands next to them.
    """

    table: Table
    metric: Measure
    beside: Sequence[Measure]
    selection: Mapping[str, str]
    rows: Sequence[RowHead]
    columns: Sequence[Column]
    cells: Mapping[tuple[RowHead, Column], Cell]
    has_reported: bool
    caption: Sequence[str]
