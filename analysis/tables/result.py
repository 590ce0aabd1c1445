"""The content of a table of means: cells by rows and columns, before they are rendered."""

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

    Finished runs are runs that have a value. Of them are mean, sd, values (in the metric's unit), runs (their ids),
    seeds, beside (means, as stored), collapsed, and flagged (flag → number of runs). own: the settings that belong to
    the activation. mixed: differences in how the finished runs were computed → number of runs, such as
    {"mode": {"eager": 2, "compiled": 3}}. some_tasks: for each finished run in which only some tasks have an ended
    episode, the number of these tasks and of all tasks.

    expected: the number of runs that there should be. waiting: planned runs that have not ended. stopped: runs that a
    search stopped early. superseded: runs left out because the same settings and seed were run again later. done: the
    ids of all done runs, with a value or without; no_episode, no_value: how many of them have no value because no
    episode ended, or for another reason.

    best: it is the best of its column; alike: it is not, and is not significantly different from the best. best, alike
    and significant are False for a cell with missing runs. against_next: Welch's test against the cell that `next`
    names, the next best complete cell of the column; effect: the effect size of that pair. If the table compares the
    best with all others, `next` is the cell with the least significant difference, and the other cells have no test.
    For the best of a column, paired: the paired test against `next`, if both have the same seeds; holm: Welch's p,
    corrected for all tests that the table is read for.
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

    name: the name in the store; label: its heading. settings: the settings in which its runs differ from other runs of
    that name, as a command gives them. For a column, facts that the caption tells: data; cautions, from `cautions_of`;
    seeds; and unlike: the settings that differ from the paper's, such as "order=shuffle, there fixed" (empty if the
    paper's number belongs to the same protocol).
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

    metric: the metric of the cells. beside: the measures next to them. paper: the paper's values of the metric by the
    names of row and column, with or without runs. tests: the number of tests that Holm's correction is for. above: the
    mean of a cell less the mean of its row in the reference column, if both exist, in the metric's unit.
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
    """A selection behind a title, such as " (as_published, full, best)"; no intervention is not named."""
    names = [name for choice, name in selection.items() if (choice, name) != ("intervention", "none")]
    return f" ({', '.join(names)})" if names else ""
