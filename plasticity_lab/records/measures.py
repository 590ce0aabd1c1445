"""The measures of agents, declared in one place for journal, summaries, W&B, figures and tables.

A declaration is plain data, and each record stores the declaration of its run. So a reader of a store needs neither the
agent's class nor torch. pyarrow is imported only in the functions that use it: agents declare measures and train
without it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Kind = Literal["task", "epoch", "episode", "pair"]
"""The subject of a row of metrics.parquet: a task, an epoch of a task, an episode of an environment, or a pair of
tasks. The row of a pair measures, after a run has learned the first task, its performance on the second."""
Taken = Literal["mean", "last", "value"]
"""The computation of a number in a row: "mean" over the updates of the epoch or task; "last", from the row of the
task's last epoch; "value", as given with the epoch, the episode or the evaluation of the task."""

Better = Literal["more", "less", ""]
"""The better direction of a measure; "" if neither is better."""

POINTS = "percentage points"
"""The unit of a difference of two percentages."""

_POSSIBLE: Mapping[Kind, Sequence[Taken]] = {
    "task": ("mean", "last", "value"),
    "epoch": ("mean", "value"),
    "episode": ("value",),
    "pair": ("value",),
}

_FIRST = ("kind", "task", "epoch", "step")
"""The columns that every metrics.parquet has."""


@dataclass(frozen=True)
class Measure:
    """The name, title and format of a number of a run.

    name: its name in metrics.parquet or in the summary. unit: "" if it has no unit. scale: the factor from the stored
    value to the unit. places: decimals in tables. better: the better direction; "" if neither is, so that a table
    marks no best value. short: a shorter title for narrow columns; "" if the title is short enough. undefined: the
    reason why runs of a kind cannot have it; "" if runs have it.
    """

    name: str
    title: str
    unit: str = ""
    scale: float = 1.0
    places: int = 4
    better: Better = ""
    short: str = ""
    undefined: str = ""

    @property
    def label(self) -> str:
        """The title for narrow columns: `short`, or the full title."""
        return self.short or self.title

    @property
    def of_difference(self) -> "Measure":
        """The measure of a difference of two values: percentages differ by percentage points."""
        return replace(self, unit=POINTS) if self.unit == "%" else self

    def number(self, value: float) -> str:
        """A value, already in the unit, formatted for tables."""
        return f"{value:,.{self.places}f}"

    def as_json(self) -> dict[str, Any]:
        """The fields for a record, without fields at their defaults: every record of a store repeats them."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}


@dataclass(frozen=True)
class Column:
    """A column of metrics.parquet.

    of: the learner's name of the values for this column. taken: kind of row → computation, for each kind with this
    column. Raises ValueError if rows of a kind do not allow a computation.
    """

    measure: Measure
    of: str
    taken: Mapping[Kind, Taken]

    def __post_init__(self) -> None:
        for kind, taken in self.taken.items():
            if taken not in _POSSIBLE.get(kind, ()):
                raise ValueError(f"The column {self.name} cannot be the {taken} of a row of the kind {kind}.")

    @property
    def name(self) -> str:
        """The name of the measure."""
        return self.measure.name

    @property
    def own_kinds(self) -> list[Kind]:
        """The kinds of rows that measure it, the coarsest first; a task's `last` only repeats an epoch's."""
        found: list[Kind] = [kind for kind in _POSSIBLE if self.taken.get(kind, "last") != "last"]
        return found or list(self.taken)

    def as_json(self) -> dict[str, Any]:
        """The column as records and checkpoints store it; `from_json` reads it."""
        return {**self.measure.as_json(), "of": self.of, "taken": dict(self.taken)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Column":
        """The column from a record or a checkpoint.  Raises KeyError, TypeError, ValueError for an invalid one."""
        measure = {key: value for key, value in content.items() if key not in ("of", "taken")}
        return cls(Measure(**measure), content["of"], dict(content["taken"]))

    def of_network(self, network: str) -> "Column":
        """The same column for one of several networks of an agent; unchanged if the network's name is empty."""
        if not network:
            return self
        short = self.measure.short and f"{network} {self.measure.short}"
        title, name = f"{self.measure.title} ({network})", of_network(network, self.name)
        measure = replace(self.measure, name=name, title=title, short=short)
        return replace(self, measure=measure, of=of_network(network, self.of))


def percent(name: str, title: str, better: Better = "more", short: str = "") -> Measure:
    """A measure that is stored as a fraction and shown in percent."""
    return Measure(name, title, "%", 100.0, 2, better, short)


def mean(values: "Sequence[Any] | NDArray[Any]", weights: Sequence[float] | None = None) -> float | None:
    """The mean, rounded once; None without values."""
    return fmean(map(float, values), weights) if len(values) else None


def of_network(network: str, name: str) -> str:
    """The name of a number measured on one of several networks; without a network's name, the plain name."""
    return f"{network}_{name}" if network else name


EVERY_SUMMARY = (
    Measure("parameters", "Parameters", "count", places=0, short="params"),
    Measure("seconds", "Time a run", "s", places=1, short="s/run"),
)
"""The measures in every record's summary, for all agents."""


@dataclass(frozen=True)
class Declared:
    """The declaration of the numbers of a record.

    columns: the columns of metrics.parquet. summaries: name → measure in the record's summary, with `EVERY_SUMMARY`.
    headline: the name of the main metric, which chooses the best run by default. marks: columns of metrics.parquet that
    give the type of a row's task.
    """

    columns: Sequence[Column]
    summaries: Mapping[str, Measure]
    headline: str
    marks: Sequence[str] = ()

    def columns_of(self, kind: Kind) -> list[Column]:
        """The columns of rows of this kind."""
        return [column for column in self.columns if kind in column.taken]

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of rows with a course over a run: tasks and epochs, and episodes if they have columns."""
        return [kind for kind in _POSSIBLE if kind != "pair" and (kind != "episode" or self.columns_of(kind))]

    @property
    def curves(self) -> list[Column]:
        """The columns with a course over the run: all except columns of pairs."""
        return [column for column in self.columns if column.taken.keys() != {"pair"}]

    @property
    def with_direction(self) -> list[Measure]:
        """The summaries with a better direction, which can choose runs; the main metric first."""
        known = [measure for measure in self.summaries.values() if measure.better]
        return sorted(known, key=lambda measure: measure.name != self.headline)

    def as_json(self) -> dict[str, Any]:
        """The declaration as a record stores it; `from_json` reads it."""
        return {
            "headline": self.headline,
            "columns": [column.as_json() for column in self.columns],
            "summaries": [measure.as_json() for measure in self.summaries.values() if measure not in EVERY_SUMMARY],
            "marks": list(self.marks),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Declared":
        """The declaration from a record.  Raises KeyError, TypeError, ValueError for an invalid one."""
        columns = [Column.from_json(column) for column in content["columns"]]
        summaries = [*(Measure(**measure) for measure in content["summaries"]), *EVERY_SUMMARY]
        by_name = {measure.name: measure for measure in summaries}
        return cls(tuple(columns), by_name, by_name[content["headline"]].name, tuple(content["marks"]))


Summarise = Callable[["pa.Table"], dict[str, float | None]]
Flags = Callable[["pa.Table", Mapping[str, float]], dict[str, bool]]


@dataclass(frozen=True)
class Measures:
    """All that an agent measures.

    columns: the columns of metrics.parquet. summaries: the ordered measures of a record's summary, without
    `EVERY_SUMMARY`. headline: the name of the main metric, which chooses the best run by default. must_stay_finite: the
    values of updates that show a divergence if they are not finite; None if the agent handles such runs. marks: facts
    about tasks that have separate columns, name → bool or int. summarise: a run's metrics → its summary, None for a
    missing value. flags: the metrics and the learner's `facts` → the flags of a record in addition to its status.

    Raises ValueError if the main metric is no summary, or if a column occurs twice.
    """

    columns: Sequence[Column]
    summaries: Sequence[Measure]
    headline: str
    must_stay_finite: str | None
    summarise: Summarise
    marks: Mapping[str, type[int]] = field(default_factory=dict)
    flags: Flags = lambda table, facts: {}

    def __post_init__(self) -> None:
        if self.headline not in self.declared.summaries:
            known = ", ".join(self.declared.summaries)
            raise ValueError(f"The main metric {self.headline} is no summary; the summaries are {known}.")
        names = [*_FIRST, *(column.name for column in self.columns), *self.marks]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"There is more than one column {', '.join(sorted(twice))}.")

    @property
    def declared(self) -> Declared:
        """The declaration for a record."""
        summaries = {measure.name: measure for measure in (*self.summaries, *EVERY_SUMMARY)}
        return Declared(tuple(self.columns), summaries, self.headline, tuple(self.marks))

    def with_columns(self, more: Sequence[Column]) -> "Measures":
        """These measures with further columns of tasks, or only of epochs; the summary gets the last row's value."""
        if not more:
            return self

        def summarise(table: "pa.Table") -> dict[str, float | None]:
            last = {kind: at for at, kind in enumerate(table["kind"].to_pylist())}

            def of(column: Column) -> float | None:
                row = last.get("task" if "task" in column.taken else "epoch")
                return None if row is None else table[column.name][row].as_py()

            return {**self.summarise(table), **{column.name: of(column) for column in more}}

        summaries = (*self.summaries, *(column.measure for column in more))
        return replace(self, columns=(*self.columns, *more), summaries=summaries, summarise=summarise)

    @property
    def schema(self) -> "pa.Schema":
        """The schema of metrics.parquet: a row for each event; `step` is the run's step when the event ended."""
        import pyarrow as pa

        first = [(name, pa.string() if name == "kind" else pa.int64()) for name in _FIRST]
        own = [(column.name, pa.float64()) for column in self.columns]
        marks = [(name, pa.bool_() if kind is bool else pa.int64()) for name, kind in self.marks.items()]
        return pa.schema([*first, *own, *marks])

    def as_json(self) -> dict[str, Any]:
        """The declaration as a record carries it."""
        return self.declared.as_json()
