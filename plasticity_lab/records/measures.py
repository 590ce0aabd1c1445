"""What an agent measures, declared once: journal, summaries, W&B, pictures and tables read it from here.

Data alone: whoever reads a store needs neither the agent's class nor torch. A record carries its run's declaration.
pyarrow is imported where it is used: agents name their measures, and can train where it is not there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Kind = Literal["task", "epoch", "episode", "pair"]
"""What a row of metrics.parquet is about: a whole task, a part of one, an episode of an environment; of a pair of
tasks, what a run that has just learned the one can do on the other."""
Taken = Literal["mean", "last", "value"]
"""How a row's number is taken: the mean over the updates of the epoch or the task; that of the task's last epoch; or as
it was given, with the epoch or the episode, or by the task's evaluation."""

Better = Literal["more", "less", ""]
"""Which direction of a measure is better; "" where that cannot be said."""

_POSSIBLE: Mapping[Kind, Sequence[Taken]] = {
    "task": ("mean", "last", "value"),
    "epoch": ("mean", "value"),
    "episode": ("value",),
    "pair": ("value",),
}


_FIRST = ("kind", "task", "epoch", "step")
"""The columns that metrics.parquet has whatever is measured."""


@dataclass(frozen=True)
class Measure:
    """A number of a run as people see it.

    name: as metrics.parquet or the summary has it. unit: "" where it has none. scale: takes what is stored to the unit.
    places: decimals that tables print. better: which direction is; "" where that cannot be said, so that a table names
    no best. short: the title where there is little room; "" where the title is short enough. undefined: why no run of
    that kind can have it; "" where runs have it.
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
        """The title where there is little room."""
        return self.short or self.title

    def number(self, value: float) -> str:
        """A value that is in the unit already, as tables print it."""
        return f"{value:,.{self.places}f}"

    def as_json(self) -> dict[str, Any]:
        """As a record has it: what stands at its default is left out, since every record of a store repeats it."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}


@dataclass(frozen=True)
class Column:
    """A column of metrics.parquet.

    of: the rows that it is made of, as the learner names them. taken: for each kind of row that has it, how.
    Raises ValueError for a way to take it that rows of that kind do not have.
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
        """The measure's."""
        return self.measure.name

    @property
    def own_kinds(self) -> list[Kind]:
        """The kinds of rows that measure it, the coarsest first; a task's `last` only repeats an epoch's."""
        found: list[Kind] = [kind for kind in _POSSIBLE if self.taken.get(kind, "last") != "last"]
        return found or list(self.taken)

    def as_json(self) -> dict[str, Any]:
        """As records and checkpoints have it: `from_json` reads it."""
        return {**self.measure.as_json(), "of": self.of, "taken": dict(self.taken)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Column":
        """The column out of a record or a checkpoint.  Raises KeyError, TypeError, ValueError for what is none."""
        measure = {key: value for key, value in content.items() if key not in ("of", "taken")}
        return cls(Measure(**measure), content["of"], dict(content["taken"]))

    def of_network(self, network: str) -> "Column":
        """The same of one of an agent's networks; itself for the only one, whose name is empty."""
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
    """What a number is called that one of several networks has measured; of the only one its plain name."""
    return f"{network}_{name}" if network else name


EVERY_SUMMARY = (
    Measure("parameters", "Parameters", "count", places=0, short="params"),
    Measure("seconds", "Time a run", "s", places=1, short="s/run"),
)
"""What every record's summary has, whatever its agent."""


@dataclass(frozen=True)
class Declared:
    """What a record says of its numbers.

    columns: of metrics.parquet. summaries: of the record's summary by name, `EVERY_SUMMARY` too. headline: the name of
    the one by which the best is chosen where nothing else is said. marks: columns of metrics.parquet that say what sort
    of task a row is about.
    """

    columns: Sequence[Column]
    summaries: Mapping[str, Measure]
    headline: str
    marks: Sequence[str] = ()

    def columns_of(self, kind: Kind) -> list[Column]:
        """Those that a row of that kind has."""
        return [column for column in self.columns if kind in column.taken]

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of rows that show a run's course: tasks and epochs always, episodes where something is measured of
        them.
        """
        return [kind for kind in _POSSIBLE if kind != "pair" and (kind != "episode" or self.columns_of(kind))]

    @property
    def curves(self) -> list[Column]:
        """The columns that have a course over the run: all but those of pairs."""
        return [column for column in self.columns if column.taken.keys() != {"pair"}]

    @property
    def with_direction(self) -> list[Measure]:
        """The summaries of which more, or less, is better, the headline first: those by which runs can be chosen."""
        known = [measure for measure in self.summaries.values() if measure.better]
        return sorted(known, key=lambda measure: measure.name != self.headline)

    def as_json(self) -> dict[str, Any]:
        """As a record has it: `from_json` reads it."""
        return {
            "headline": self.headline,
            "columns": [column.as_json() for column in self.columns],
            "summaries": [measure.as_json() for measure in self.summaries.values() if measure not in EVERY_SUMMARY],
            "marks": list(self.marks),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Declared":
        """The declaration out of a record.  Raises KeyError, TypeError, ValueError for what is none."""
        columns = [Column.from_json(column) for column in content["columns"]]
        summaries = [*(Measure(**measure) for measure in content["summaries"]), *EVERY_SUMMARY]
        by_name = {measure.name: measure for measure in summaries}
        return cls(tuple(columns), by_name, by_name[content["headline"]].name, tuple(content["marks"]))


Summarise = Callable[["pa.Table"], dict[str, float | None]]
Flags = Callable[["pa.Table", Mapping[str, float]], dict[str, bool]]


@dataclass(frozen=True)
class Measures:
    """All that an agent measures.

    columns: of metrics.parquet. summaries: of a record's summary, in its order, without what every record has
    (`EVERY_SUMMARY`). headline: the summary by which the best is chosen where nothing else is said. must_stay_finite:
    the rows of updates by which a run is seen to have diverged; None where the agent itself says what becomes of a run
    whose numbers are not finite. marks: what tasks say of themselves in columns of their own, name → bool or int.
    summarise: a run's metrics → its summary, None where there is nothing to take it of. flags: its metrics and the
    learner's `facts` → what a record says beside its status.

    Raises ValueError for a headline that is no summary, and for a column that is there twice.
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
        """What a record says of them."""
        summaries = {measure.name: measure for measure in (*self.summaries, *EVERY_SUMMARY)}
        return Declared(tuple(self.columns), summaries, self.headline, tuple(self.marks))

    def with_columns(self, more: Sequence[Column]) -> "Measures":
        """These, and columns that tasks' rows have, or epochs' alone; the summary has what the last such row has."""
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
        """Of metrics.parquet: a row for each event; `step` is how far the run had come when it ended."""
        import pyarrow as pa

        first = [(name, pa.string() if name == "kind" else pa.int64()) for name in _FIRST]
        own = [(column.name, pa.float64()) for column in self.columns]
        marks = [(name, pa.bool_() if kind is bool else pa.int64()) for name, kind in self.marks.items()]
        return pa.schema([*first, *own, *marks])

    def as_json(self) -> dict[str, Any]:
        """The declaration as a record carries it."""
        return self.declared.as_json()
