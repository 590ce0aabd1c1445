"""What tables of means are made of: cells by rows and columns, before they are words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.reported.reported import Published
from analysis.rows import Row
from analysis.statistics.hedges import Hedges
from analysis.statistics.paired import Paired
from analysis.statistics.welch import Welch
from analysis.tables.table import Table
from plasticity_lab.records.measures import Measure


@dataclass(frozen=True)
class Cell:
    """The runs of one setting.

    mean, sd, values (in the metric's unit), runs (their ids), seeds and beside (means, as stored) are of the finished
    runs alone. expected: how many runs there should be; waiting: how many a plan names that have not ended. superseded:
    runs left out because the same settings and seed were run again later. flagged: what else the records of finished
    runs say of them → of how many. mixed: what made the finished runs, where it was not the same → of how many, as in
    {"mode": {"eager": 2, "compiled": 3}}. own: the settings that belong to the activation. alike: whether it is not the
    best of its column, which is not told apart from it either. best, alike and significant are False for a cell with
    missing runs. done: the ids of all runs that finished, with a value or without; no_episode,
    no_value: of how many of them no value is there, since no episode ended or for another reason. stopped: how many a
    search has stopped early. some_tasks: of the
    finished runs with a value, where no episode ended in some of their tasks: in how many of how many one did.

    against_next: Welch's test against what `next` names, the next best complete cell of the column; effect: how far
    they lie apart. Where the best is compared with all others, it is the one from which it is told apart the least, and
    the others have no test. Of the best of a column, paired: the paired test against `next`, where both have the same
    seeds; holm: Welch's p corrected for all tests that the table is read for.
    """

    mean: float | None
    sd: float | None
    n: int
    expected: int
    diverged: int
    failed: int
    collapsed: int
    waiting: int
    superseded: int
    values: Sequence[float]
    runs: Sequence[str]
    seeds: Sequence[tuple[int | None, ...]]
    beside: Mapping[str, float | None]
    own: Mapping[str, object]
    flagged: Mapping[str, int] = field(default_factory=dict)
    mixed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    done: Sequence[str] = ()
    no_episode: int = 0
    no_value: int = 0
    stopped: int = 0
    some_tasks: Sequence[tuple[int, int]] = ()
    paper: Published | None = None
    best: bool = False
    alike: bool = False
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
class Heading:
    """A row or a column: the name it stands for, its heading, and what tells it from another of the same name.

    settings: those in which its runs differ from others of that name, as a command gives them. Of a column, what the
    caption says of its runs: data; cautions, as `cautions_of` has them; seeds; and unlike: in which settings, and how,
    they are not as the paper's were, as in "order=shuffle, there fixed" (empty where the paper's number of a cell
    stands beside runs of its own protocol).
    """

    name: str
    label: str
    settings: tuple[str, ...] = ()
    data: str = ""
    cautions: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    unlike: tuple[str, ...] = ()


Place = tuple[Heading, Heading]
"""A row and a column."""


@dataclass(frozen=True)
class Result:
    """A table of one selection of runs: cells by row and column; a pair without runs has no cell.

    runs: what it was made of. metric: what the cells show. beside: what stands next to them. paper: the paper's values
    of the metric by the names of row and column, also of those without runs. has_reported: whether it has any. fill:
    the command that trains what a pair lacks, or why there is none. tests: for how many of them Holm's correction was
    made. above: by how much the mean of a cell is above that of its row in the reference column, where both are there,
    in the metric's unit.
    """

    table: "Table[Result]"
    runs: Sequence[Row]
    metric: Measure
    beside: Sequence[Measure]
    selection: Mapping[str, str]
    rows: Sequence[Heading]
    columns: Sequence[Heading]
    cells: Mapping[Place, Cell]
    has_reported: bool
    paper: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    fill: Mapping[Place, str] = field(default_factory=dict)
    tests: int = 0
    above: Mapping[Place, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The table's, with the metric and what was selected."""
        names = [name for choice, name in self.selection.items() if (choice, name) != ("intervention", "none")]
        return f"{self.table.title}: {self.metric.title}" + (f" ({', '.join(names)})" if names else "")
