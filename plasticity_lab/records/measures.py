"""What an agent measures, declared once: journal, summaries, W&B, pictures and tables read it from here.

Data alone: whoever reads a store needs neither the agent's class nor torch. A record carries its run's declaration.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pyarrow as pa

Kind = Literal["epoch", "task", "episode"]
"""What a row of metrics.parquet tells of: a part of a task, a whole task, an episode of an environment."""
Taken = Literal["mean", "last", "value"]
"""How a row's number is taken: the mean over the updates of the epoch or the task; that of the task's last epoch; or as
it was given, by the task's evaluation or with the episode."""


@dataclass(frozen=True)
class Measure:
    """A number of a run as people see it.

    name: as metrics.parquet or the summary has it. unit: "" where it has none. scale: takes what is stored to the unit.
    places: decimals that tables print. better: which direction is; "" where that cannot be said, so that a table names
    no best.
    """

    name: str
    title: str
    unit: str = ""
    scale: float = 1.0
    places: int = 4
    better: Literal["more", "less", ""] = ""


@dataclass(frozen=True)
class Column:
    """A column of metrics.parquet.

    of: the rows that it is made of, as the learner names them. taken: for each kind of row that has it, how.
    """

    measure: Measure
    of: str
    taken: Mapping[Kind, Taken]

    @property
    def name(self) -> str:
        """The measure's."""
        return self.measure.name


Summarise = Callable[[pa.Table], dict[str, float | None]]
Flags = Callable[[pa.Table, Mapping[str, float]], dict[str, bool]]


@dataclass(frozen=True)
class Measures:
    """All that an agent measures.

    columns: of metrics.parquet. summaries: of a record's summary, in its order, without what every record has
    (`EVERY_SUMMARY`). headline: the summary by which the best is chosen where nothing else is said. must_stay_finite:
    the rows of updates by which a run is seen to have diverged. marks: what tasks say of themselves in columns of their
    own, name → type. summarise: a run's metrics → its summary, None where there is nothing to take it of. flags: its
    metrics and the learner's `facts` → what a record says beside its status.
    """

    columns: Sequence[Column]
    summaries: Sequence[Measure]
    headline: str
    must_stay_finite: str
    summarise: Summarise
    marks: Mapping[str, pa.DataType] = field(default_factory=dict)
    flags: Flags = lambda table, facts: {}

    @property
    def schema(self) -> pa.Schema:
        """Of metrics.parquet: a row for each event; `step` is how far the run had come when it ended."""
        first = [("kind", pa.string()), ("task", pa.int64()), ("epoch", pa.int64()), ("step", pa.int64())]
        own = [(column.name, pa.float64()) for column in self.columns]
        return pa.schema([*first, *own, *self.marks.items()])

    def columns_of(self, kind: Kind) -> list[Column]:
        """Those that a row of that kind has."""
        return [column for column in self.columns if kind in column.taken]

    def as_json(self) -> dict[str, Any]:
        """The declaration as a record carries it: `declared` reads it."""
        return {
            "headline": self.headline,
            "columns": [{**asdict(column.measure), "taken": dict(column.taken)} for column in self.columns],
            "summaries": [asdict(measure) for measure in self.summaries],
        }


@dataclass(frozen=True)
class Declared:
    """What a record says of its numbers.

    headline: a summary's name. columns: of metrics.parquet, each with the kinds of row that have it. summaries: name →
    measure.
    """

    headline: str
    columns: Sequence[tuple[Measure, Sequence[Kind]]]
    summaries: Mapping[str, Measure]


EVERY_SUMMARY = (
    Measure("parameters", "Parameters", "count", places=0),
    Measure("seconds", "Time a run", "s", places=1),
)
"""What every record's summary has, whatever its agent."""


def declared(content: Mapping[str, Any]) -> Declared:
    """The declaration out of a record.  Raises KeyError, TypeError for what is none."""
    columns = [(_measure(column), tuple(column["taken"])) for column in content["columns"]]
    summaries = [*map(_measure, content["summaries"]), *EVERY_SUMMARY]
    return Declared(content["headline"], columns, {measure.name: measure for measure in summaries})


def _measure(content: Mapping[str, Any]) -> Measure:
    return Measure(**{key: value for key, value in content.items() if key != "taken"})
