"""What a table is: a declaration, and the functions by which it is built, rendered and captioned."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from analysis.conf import has
from analysis.names import NAMES
from analysis.rows import Row
from analysis.tables.listing import Listing
from analysis.tables.stages import Metrics, with_stages

Found = TypeVar("Found")
"""What a kind of table finds of rows, before it is words."""
Measured = Callable[["Table[Any]", Sequence[Row], str | None], tuple[list[Row], list[Row]]]
"""A table, rows and the metric that is asked for → the rows that it is made of, and those left out since their agents
measure something else.  Raises ConfigError, naming what is there, if no run's summary has the value.
"""


def everything(table: "Table[Any]", rows: Sequence[Row], metric_name: str | None) -> tuple[list[Row], list[Row]]:
    """All rows, for a table that shows no value of the records' summaries."""
    return list(rows), []


@dataclass(frozen=True)
class Table(Generic[Found]):
    """A table.  It is made in three steps, each a function that is given the table first.

    build: rows and the metric that is asked for → what is found of them, one for each selection of runs; without any,
    what is there without runs, as the paper's numbers.
    render: one of those → headings, cells, and the lines of a CSV.
    caption: one of those → sentences.

    All other fields say of which runs it is and what it shows; each kind of table reads those that it needs.
    """

    name: str
    """Of its files, and for the command."""
    title: str
    build: "Callable[[Table[Found], Sequence[Row], str | None], Sequence[Found]]"
    render: "Callable[[Table[Found], Found], Listing]"
    caption: "Callable[[Table[Found], Found], Sequence[str]]"
    measured: Measured = everything
    """Which rows a command makes it of."""
    runs: Literal["needed", "shown", "unused"] = "needed"
    """Whether a store is needed, looked at where there is one, or not asked for."""
    rows: str = "activation"
    """The field of `analysis.rows.Row` that its rows are of."""
    columns: str = "benchmark"
    """The field that its columns are of."""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Fields of `Row` → the names of which the table is made, in its order; all, where nothing is said."""
    cell: str | None = None
    """The summary value whose mean ± SD a cell shows; None: the one that the runs' agent names first."""
    also: Sequence[str] = ()
    """Summary values that have a table each after it."""
    beside: Sequence[str] = ()
    """What is shown next to the cells or behind them, as what an accuracy costs."""
    reported: Sequence[str | Path] = ()
    """CSV files with the paper's values, in analysis/reported or with their paths."""
    source: str = ""
    """What the paper calls them."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """What those files call a column → its name here."""
    experiment: str | None = None
    """The preset of conf/experiment/ that trains its runs; "{benchmark}" in it stands for each benchmark."""
    against: Literal["next", "all"] = "next"
    """With what the best of a column is compared: the next best, or all others."""
    level: float = 0.05
    """Of that test."""
    reference: str | None = None
    """A column with which the cells of a row are compared, as in "fresh_each_task"."""
    returns: Literal["return", "score", "gap"] | None = None
    """What it shows of the returns by task of bodies in turn; None: it is not made of them."""
    bodies: Sequence[str] = ()
    """Those bodies, in its order."""

    def listings(
        self, rows: Sequence[Row], metric_name: str | None = None, metrics: Metrics | None = None
    ) -> list[Listing]:
        """What it shows of some rows, one for each selection of runs that they hold.

        metrics: reads what runs measured along their way, for a table of returns by task.
        """
        found = self.build(self, self.ready(rows, metrics), metric_name)
        return [self.listing(each) for each in found]

    def listing(self, found: Found) -> Listing:
        """One of those that it is built to, as words with their caption."""
        return replace(self.render(self, found), caption=self.caption(self, found))

    def about(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that it is about."""
        return [row for row in rows if all(getattr(row, name) in allowed for name, allowed in self.only.items())]

    def ready(self, rows: Sequence[Row], metrics: Metrics | None) -> list[Row]:
        """The rows with all that it is made of, so that they make it again where the metrics are not at hand."""
        if self.returns is None:
            return list(rows)
        about = self.about(rows)
        known = dict(zip(map(id, about), with_stages(about, metrics), strict=True))
        return [known.get(id(row), row) for row in rows]

    def lacks(self) -> list[str]:
        """The choices that all its runs need and this version has not, as in "benchmark=split_cifar100"."""
        fixed = {group: names for group, names in self.only.items() if group in NAMES}
        return [
            f"{group}={','.join(names)}"
            for group, names in fixed.items()
            if names and not any(has(group, name) for name in names)
        ]

    def needs_runs(self) -> bool:
        """Whether a store is looked at: not for what stands in conf/, nor for what no run of this version can fill."""
        return self.runs == "needed" and not self.lacks()
