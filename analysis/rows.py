"""The records and plans of a store as rows: one row for each pair of a run and a requested name.

A run that was requested both as `default` and as `best` has two rows, so that both tables find it. Planned runs without
a record have rows too, with the status `waiting`.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

from analysis.conf import groups, option
from analysis.statistics.method import Methods
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.damage import OldFormat
from plasticity_lab.records.measures import Declared
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.record import records_of
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.stage_returns import StageReturn
from plasticity_lab.records.store import Store

NAMED_BY_THE_ASKER = ("protocol", "schedule", "hyperparams")
"""Choices with names that only `asked_as` keeps; a run's `science` has the values that they resolve to."""
SEEDS = ("seed", "stream_seed", "init_seed")
"""Settings that differ between replicates."""
MEASURED_BESIDE = ("benchmark.eval_matrix",)
"""Settings that change no number of a run; they only add further measurements."""
MADE_WITH = ("commit", "code", "dirty", "data", "data_part", "mode", "device")
LATER = {
    "network.norm": "none",
    "benchmark.unpermuted_first": False,
    "optimizer.schedule": "constant",
    "optimizer.schedule_by": "task",
    "optimizer.warmup": 0.0,
    "optimizer.final": 0.0,
}
"""Settings that old records lack → the values that their runs had, so that old runs group with today's runs."""
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Row:
    """One run under one name.

    seeds: the numbers of `SEEDS`.
    own: the settings that belong to the activation (its shape parameters, its learning rate, the strength of an
    intervention), as dotted keys.
    study: all other settings, which a fair comparison holds fixed.
    summary: as stored (fractions); declared: the description of its numbers.
    flags: further facts that the agent reports about the run.
    diverged_at_step, error, stopped_at_step: set if the run diverged, failed or was stopped early.
    stages: the returns of each task, if they have been read.
    methods: the methods behind the table's intervals, if the row was read from a table's .json.
    printed: the numbers of that table, if its .json has no stages.
    """

    run: str
    activation: str
    benchmark: str
    protocol: str
    schedule: str
    hyperparams: str
    intervention: str
    seeds: tuple[int | None, int | None, int | None]
    status: str
    collapsed: bool
    own: Mapping[str, Any]
    study: Mapping[str, Any]
    summary: Mapping[str, float]
    declared: Declared
    provenance: Mapping[str, Any]
    planned: bool
    flags: Mapping[str, bool] = field(default_factory=dict)
    diverged_at_step: int | None = None
    error: str | None = None
    stopped_at_step: int | None = None
    stages: Sequence[StageReturn] | None = None
    methods: Methods | None = None
    printed: Mapping[str, Any] | None = None

    @cached_property
    def replicate(self) -> tuple[int, ...]:
        """The seeds as a sort key."""
        return tuple(-1 if seed is None else seed for seed in self.seeds)

    @cached_property
    def made_with(self) -> tuple[Any, ...]:
        """The parts of the provenance that a caption names: code, data, mode and device."""
        versions, classes = self.provenance.get("versions") or {}, self.provenance.get("classes") or {}
        return _one((*map(self.provenance.get, MADE_WITH), versions.get("torch"), str(classes)))


@dataclass(frozen=True)
class Planned:
    """The runs in a store's plans.  ids: all runs. runs: the science and asked_as of each run that is to be trained."""

    ids: AbstractSet[str]
    runs: Mapping[str, Mapping[str, Any]]


NOTHING_PLANNED = Planned(frozenset(), {})


@cache
def _one(made: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same object for equal tuples, which are then compared at once."""
    return made


def rows_in(root: Path) -> tuple[list[Row], list[str]]:
    """The rows of a store, and a sentence for each file that cannot be read and is left out.

    Raises StoreError if the place has no store, or the disk does not answer.
    """
    if not root.is_dir():
        raise StoreError(f"There is no store at {root}; name one with --store, or make one by training a run.")
    store = Store(root)
    planned, damaged = _planned(store)
    left_out: list[str] = []
    found = rows(_good(store, left_out), planned)
    return found, left_out + damaged


def rows(records: Iterable[Mapping[str, Any]], planned: Planned = NOTHING_PLANNED) -> list[Row]:
    """The rows of records and of planned runs without a record.  A record is a mapping as in record.json.

    A record declares its run's numbers. If it does not (the run failed or waits, or the record is old), the declaration
    comes from another record of the same agent. Without such a record, the numbers are declared as a classifier's.
    """
    known: dict[str, Mapping[str, Any]] = {}
    of_run: dict[str, list[Row]] = {}  # built record by record: a hundred thousand records would not fit into memory
    of_agent: dict[str | None, Declared] = {}

    def add(record: Mapping[str, Any]) -> None:
        settings, declared = _settings_of(record["science"], known), declared_in(record)
        if record.get("measures"):
            of_agent[settings["study"].get("agent.name")] = declared
        names = _names(record, planned.runs.get(record["run"], {}))
        is_planned = record["run"] in planned.ids
        of_run[record["run"]] = [_row(record, settings, chosen, declared, is_planned) for chosen in names]

    for record in records:
        add(record)
    for name, run in planned.runs.items():
        if name not in of_run:
            add({**run, "run": name, "status": "waiting"})
    undeclared = declared_in({})
    return [
        replace(row, declared=of_agent.get(row.study.get("agent.name"), undeclared))
        if row.declared is undeclared
        else row
        for rows_of_run in of_run.values()
        for row in rows_of_run
    ]


def grouped(items: Iterable[Item], key_of: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Key → its items, the keys in the order of first occurrence."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key_of(item), []).append(item)
    return groups


def key(settings: Mapping[str, Any]) -> str:
    """Settings as one comparable string: equal strings mean equal settings."""
    return json.dumps(settings, sort_keys=True)


def as_of_today(flat: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings as dotted keys, with the names of its options, and with the `LATER` settings that it lacks."""
    later = {}
    for key, value in LATER.items():
        group, _, setting = key.partition(".")
        if key not in flat and setting in option(group, str(flat.get(f"{group}.name"))):
            later[key] = value
    return {**flat, **later}


def varying(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sorted keys with different values; a missing key counts as null."""
    several = {id(one): one for one in settings}.values()
    return sorted(name for name in set().union(*several) if len({repr(one.get(name)) for one in several}) > 1)


def _good(store: Store, left_out: list[str]) -> Iterator[dict[str, Any]]:
    """Yields the complete records; adds the reason for leaving out any other record to the list."""
    corrupt: list[CorruptRecord] = []
    for record in records_of(store, corrupt):
        science = record["science"]
        options = [science.get(group) for group in ("activation", "benchmark")]
        if "seed" in science and all(isinstance(option, Mapping) and "name" in option for option in options):
            yield record
        else:
            left_out.append(f"{store.record(record['run'])} names no activation, benchmark or seed.")
    left_out[:0] = map(str, corrupt)


def _names(*sources: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The distinct names that select tables, in the order of the requests; a run without a request gets one row too."""
    chosen = [
        tuple(request.get(choice) or "unnamed" for choice in NAMED_BY_THE_ASKER)
        for source in sources
        for request in source.get("asked_as") or ()
    ]
    return list(dict.fromkeys(chosen)) or [("unnamed",) * len(NAMED_BY_THE_ASKER)]


def _settings_of(science: Mapping[str, Any], known: dict[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The fields of `Row` that hold settings. Runs that differ only in their seeds get the same object.

    known: the settings so far; new settings are added.
    """
    # Runs with a stream or init seed vary in less than other runs do, so they are not replicates of those runs.
    apart = {name: "set apart" for name in SEEDS[1:] if science.get(name) is not None}
    word = repr({**science, **dict.fromkeys(SEEDS), **apart})
    if found := known.get(word):
        return found
    intervention = science.get("intervention") or {"name": "none"}
    flat = as_of_today(_flat({**_without_neutral(science), "intervention": intervention}))
    dropped = (*SEEDS, "activation.name", "benchmark.name", "intervention.name", *MEASURED_BESIDE)
    study = {name: value for name, value in flat.items() if name not in dropped} | apart
    with_activation = ("activation.", "intervention.")
    own = {name: study.pop(name) for name in [*study] if name.startswith(with_activation) or name == "optimizer.lr"}
    known[word] = {
        "activation": science["activation"]["name"],
        "benchmark": science["benchmark"]["name"],
        "intervention": intervention["name"],
        "own": own,
        "study": study,
    }
    return known[word]


def _row(
    record: Mapping[str, Any],
    settings: Mapping[str, Any],
    chosen: tuple[str, ...],
    declared: Declared,
    planned: bool,
) -> Row:
    return Row(
        run=record["run"],
        **settings,
        **dict(zip(NAMED_BY_THE_ASKER, chosen, strict=True)),
        seeds=tuple(record["science"].get(name) for name in SEEDS),
        status=record["status"],
        collapsed=bool(record.get("collapsed")),
        summary=record.get("summary") or {},
        declared=declared,
        provenance=record.get("provenance") or {},
        planned=planned,
        flags=record.get("flags") or {},
        diverged_at_step=record.get("diverged_at_step"),
        error=record.get("error"),
        stopped_at_step=record.get("stopped_at_step"),
    )


def _without_neutral(science: Mapping[str, Any]) -> dict[str, Any]:
    """The science without groups at their neutral option, so that runs from before such a group count as replicates."""
    neutral = {name: declared["neutral"] for name, declared in groups().items() if "neutral" in declared}
    return {
        name: value
        for name, value in science.items()
        if not (name in neutral and isinstance(value, Mapping) and value.get("name") == neutral[name])
    }


def _flat(science: Mapping[str, Any]) -> dict[str, Any]:
    """Groups of settings as dotted keys."""
    flat = {}
    for name, value in science.items():
        inner = _flat(value) if isinstance(value, Mapping) else None
        flat |= {name: value} if inner is None else {f"{name}.{setting}": of for setting, of in inner.items()}
    return flat


def _planned(store: Store) -> tuple[Planned, list[str]]:
    """The runs that the store's plans name, and a sentence for each damaged plan."""
    ids: set[str] = set()
    runs: dict[str, Mapping[str, Any]] = {}
    damaged = []
    for sweep in sweeps_of(store):
        try:
            plan = read_plan(store, sweep)
        except OldFormat:
            raise  # without it, its waiting runs would be missing
        except StoreError as error:
            damaged.append(str(error))
            continue
        ids |= {*plan.asked, *plan.runs}
        runs |= {name: {"science": run.science, "asked_as": run.asked_as} for name, run in plan.runs.items()}
    return Planned(ids, runs), damaged
