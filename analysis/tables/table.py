"""What a table is: a declaration, and the neutral result that every rendering shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from analysis.reported.reported import Published
from analysis.statistics.hedges import Hedges
from analysis.statistics.paired import Paired
from analysis.statistics.welch import Welch
from plasticity_lab.records.measures import Measure


@dataclass(frozen=True)
class Table:
    """The declaration of a table of means over seeds.

    rows, columns: fields of `analysis.rows.Row`. cell: the summary value whose mean ± SD a cell shows; None: the one
    that the runs' agent names first. also: summary values that have a table each after it. beside: summary values shown
    next to it (what the accuracy costs). reported: files in analysis/reported with the paper's values, for `cell` or
    what a line's `metric_read_as` says, and for runs without an intervention unless interventions are the columns;
    source names them in words; renamed: what they call a column → its name here. only: fields of `Row` → the names of
    which the table is made, in its order; all, where nothing is said. against: with what the best of a column is
    compared, the next best or all others. level: of that test. experiment: the preset of conf/experiment/ that trains
    its runs, where there is one. reference: a column with which the cells of a row are compared, as in
    "fresh_each_task".
    """

    name: str
    title: str
    rows: str
    columns: str
    cell: str | None
    beside: Sequence[str]
    reported: Sequence[str]
    source: str
    also: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    against: Literal["next", "all"] = "next"
    level: float = 0.05
    experiment: str | None = None
    reference: str | None = None


@dataclass(frozen=True)
class Cell:
    """The runs of one setting.

    mean, sd, values (in the metric's unit), runs (their ids), seeds and beside (means, as stored) are of the finished
    runs alone. expected: how many runs there should be; waiting: how many a plan names that have not ended. superseded:
    runs left out because the same settings and seed were run again later. flagged: what else the records of finished
    runs say of them → of how many. mixed: what made the finished runs, where it was not the same → of how many, as in
    {"mode": {"eager": 2, "compiled": 3}}. own: the settings that belong to the activation. best and significant are
    False for a cell with missing runs. done: the ids of all runs that finished, with a value or without; no_episode,
    no_value: of how many of them no value is there, since no episode ended or for another reason. some_tasks: of the
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
    some_tasks: Sequence[tuple[int, int]] = ()
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
    """A row: the name it stands for, and the settings that tell it from another row of the same name.

    words: those settings as a command gives them.
    """

    name: str
    settings: str
    label: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column: the name it stands for, its heading, and what the caption says of its runs and data.

    settings: those that tell it from another column of the same name, as a command gives them. seeds: those of its
    runs. unlike: in which settings, and how, its runs are not as the paper's were, as in "order=shuffle, there fixed";
    empty where the paper's number of a cell stands beside runs of its own protocol.
    """

    name: str
    label: str
    data: str
    recency: bool
    settings: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """A table of one selection of runs: cells by (row, column); a pair without runs has no cell.

    metric: what the cells show. beside: what stands next to them. paper: the paper's values of the metric by the names
    of row and column, also of those without runs. has_reported: whether it has any. fill: the command that trains what
    a pair lacks, or why there is none. tests: for how many of them Holm's correction was made. above: by how much the
    mean of a cell is above that of its row in the reference column, where both are there, in the metric's unit.
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
    paper: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    fill: Mapping[tuple[RowHead, Column], str] = field(default_factory=dict)
    tests: int = 0
    above: Mapping[tuple[RowHead, Column], float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The table's, with the metric and what was selected."""
        names = [name for choice, name in self.selection.items() if (choice, name) != ("intervention", "none")]
        return f"{self.table.title}: {self.metric.title}" + (f" ({', '.join(names)})" if names else "")
