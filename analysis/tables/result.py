"""The content of a table of means: cells by row and column, before they are rendered."""

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

    Finished runs are runs with a value. These fields describe the finished runs:
    mean, sd, values: in the metric's unit. runs: their ids. seeds: their seeds.
    beside: the means of further measures, as stored. collapsed: the number of collapsed runs.
    flagged: flag → number of runs.
    mixed: differences in how the runs were computed → number of runs: {"mode": {"eager": 2, "compiled": 3}}.
    some_tasks: for each run with ended episodes in only some tasks, the number of these tasks and of all tasks.

    own: the settings that belong to the activation.
    expected: the expected number of runs. waiting: planned runs that have not ended. stopped: runs that a search
    stopped early. superseded: runs left out because the same settings and seed were run again later.
    done: the ids of all done runs, with or without a value. no_episode, no_value: the number of done runs without a
    value because no episode ended, or for another reason.

    best: the cell is the best of its column. alike: it is not the best, and not significantly different from the best.
    best, alike and significant are False for a cell with missing runs.
    next: the name of the next best complete cell of the column. If the table compares the best with all others, it is
    the cell with the least significant difference, and the other cells have no test.
    against_next: Welch's test against the cell `next`. effect: the effect size of that pair.
    paired: for the best of a column, the paired test against `next`, if both have the same seeds.
    holm: for the best of a column, Welch's p-value, corrected for the tests of all columns' best cells.
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
        """Whether every expected run has finished with a value."""
        return self.n > 0 and self.n == self.expected


@dataclass(frozen=True)
class Heading:
    """A row or a column.

    name: the name in the store. label: the displayed heading.
    settings: the settings that differ from other runs of that name, as written in a command.

    A column also has facts for the caption. data: from `data_line`. cautions: from `cautions_of`. seeds: its seeds.
    unlike: the settings that differ from the paper's, such as "order=shuffle, there fixed"; empty if the paper's number
    belongs to the same protocol.
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

    metric: the metric of the cells. beside: the measures that are shown next to them.
    paper: the paper's values of the metric by the names of row and column, with or without runs.
    tests: the number of tests in Holm's correction.
    above: the mean of a cell minus the mean of its row in the reference column, if both exist, in the metric's unit.
    """

    table: "Table[Result]"
    runs: Sequence[Row]
    metric: Measure
    beside: Sequence[Measure]
    selection: Mapping[str, str]
    rows: Sequence[Heading]
    columns: Sequence[Heading]
    cells: Mapping[Place, Cell]
    paper: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    tests: int = 0
    above: Mapping[Place, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The table's title, with the metric and the selection."""
        return f"{self.table.title}: {self.metric.title}{chosen_words(self.selection)}"


def chosen_words(selection: Mapping[str, str]) -> str:
    """A selection to follow a title, such as " (as_published, full, best)"; intervention=none is left out."""
    names = [name for choice, name in selection.items() if (choice, name) != ("intervention", "none")]
    return f" ({', '.join(names)})" if names else ""
