"""Records → rows: one row for each run and each name under which it was asked for; what tables select from and group.

A run can be asked for under several names (by `default` and by `best` alike): each gives a row, so that each table
finds it. Runs that a plan names and that have no record yet are rows too, with the status `waiting`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

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
"""What only `asked_as` knows: names of choices, of which the run's science keeps the resolved values."""
SEEDS = ("seed", "stream_seed", "init_seed")
"""What makes runs replicates of each other."""
MEASURED_BESIDE = ("benchmark.eval_matrix",)
"""Settings that change no number of a run, only what is measured besides."""
LATER = {"network.norm": "none", "benchmark.unpermuted_first": False}
"""Settings that old records lack, and the values that their runs had: they group with today's runs."""


@dataclass(frozen=True)
class Row:
    """One run under one name.

    seeds: the numbers of `SEEDS`. own: the settings that belong to the
    activation (its shape parameters, its learning rate, the strength of an intervention), as dotted keys; study:
    all others, which a fair comparison holds fixed. summary: as stored (fractions); declared: what its numbers are.
    flags: what else its agent says of it. diverged_at_step, error, stopped_at_step: of a run that diverged, failed or
    was stopped early.

    stages: what it returned in each of its tasks, where that has been read already. methods: by what the intervals were
    made of the table out of whose .json it comes. printed: the numbers of that table, where the .json has no stages.
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


@dataclass(frozen=True)
class Planned:
    """What the plans of a store name: the ids of all their runs, and science and asked_as of those to be trained."""

    ids: AbstractSet[str]
    runs: Mapping[str, Mapping[str, Any]]


NOTHING_PLANNED = Planned(frozenset(), {})


def rows_in(root: Path) -> tuple[list[Row], list[str]]:
    """The rows of a store, and a sentence for each file that cannot be read and is left out.

    Raises StoreError if there is no store at that place, or the disk does not answer.
    """
    if not root.is_dir():
        raise StoreError(f"There is no store at {root}; name one with --store, or make one by training a run.")
    store = Store(root)
    planned, damaged = _planned(store)
    corrupt: list[CorruptRecord] = []
    incomplete: list[str] = []
    found = rows(_good(store, corrupt, incomplete), planned)
    return found, [*map(str, corrupt), *incomplete, *damaged]


def rows(records: Iterable[Mapping[str, Any]], planned: Planned = NOTHING_PLANNED) -> list[Row]:
    """The rows of records and of the planned runs that have none.  A record is a mapping as in record.json.

    What a run's numbers are stands in its record, else in another record of its agent (runs that failed or wait say
    nothing; nor do old records); where no record says it, they are a classifier's.
    """
    settings_of = _Shared()
    of_run: dict[str, list[Row]] = {}  # made record by record: a hundred thousand whole ones would fill the memory
    saying: dict[str | None, Declared] = {}

    def add(record: Mapping[str, Any]) -> None:
        settings, declared = settings_of(record["science"]), declared_in(record)
        if record.get("measures"):
            saying[settings.study.get("agent.name")] = declared
        names = _names(record, planned.runs.get(record["run"], {}))
        is_planned = record["run"] in planned.ids
        of_run[record["run"]] = [_row(record, settings, chosen, declared, is_planned) for chosen in names]

    for record in records:
        add(record)
    for name, run in planned.runs.items():
        if name not in of_run:
            add({**run, "run": name, "status": "waiting"})
    unsaid = declared_in({})
    return [
        row if row.declared is not unsaid else replace(row, declared=saying.get(row.study.get("agent.name"), unsaid))
        for alike in of_run.values()
        for row in alike
    ]


def _good(store: Store, corrupt: list[CorruptRecord], incomplete: list[str]) -> Iterator[dict[str, Any]]:
    """The records that say what their run was; why each of the others is left out is added to the lists."""
    for record in records_of(store, corrupt):
        if _says_what_it_was(record):
            yield record
        else:
            incomplete.append(f"{store.record(record['run'])} names no activation, benchmark or seed.")


def key(settings: Mapping[str, Any]) -> str:
    """Settings as one comparable word: equal words, equal settings."""
    return json.dumps(settings, sort_keys=True)


def distinct(settings: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The different ones among some settings, by `key`. Rows share what is alike, so that each is looked at once."""
    return {key(one): one for one in {id(one): one for one in settings}.values()}


def as_of_today(flat: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings as dotted keys, its options' names among them, with those that came `LATER`."""
    return {**flat, **{key: value for key, value in LATER.items() if key not in flat and _has_now(flat, key)}}


def varying(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The keys, sorted, at which the settings are not all the same; one that is missing counts as null."""
    alike = list(distinct(settings).values())
    names = sorted({name for one in alike for name in one})
    return [name for name in names if len({json.dumps(one.get(name)) for one in alike}) > 1]


def _names(*asked: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The distinct names that select tables, in the order they were given; a run nobody named has one row too."""
    chosen = [
        tuple(one.get(choice) or "unnamed" for choice in NAMED_BY_THE_ASKER)
        for each in asked
        for one in each.get("asked_as") or ()
    ]
    return list(dict.fromkeys(chosen)) or [("unnamed",) * len(NAMED_BY_THE_ASKER)]


@dataclass(frozen=True)
class _Settings:
    """What runs that differ in nothing but their seeds have alike."""

    activation: str
    benchmark: str
    intervention: str
    own: Mapping[str, Any]
    study: Mapping[str, Any]


class _Shared:
    """The settings of a run's science; runs with the same settings get the same objects."""

    def __init__(self) -> None:
        self._known: dict[str, _Settings] = {}

    def __call__(self, science: Mapping[str, Any]) -> _Settings:
        # Runs with a stream or init seed of their own vary in less than the others do; they are no replicates of those.
        apart = {name: "set apart" for name in SEEDS[1:] if science.get(name) is not None}
        word = json.dumps({**science, **dict.fromkeys(SEEDS), **apart})
        if word not in self._known:
            self._known[word] = _settings(science, apart)
        return self._known[word]


def _settings(science: Mapping[str, Any], apart: Mapping[str, str]) -> _Settings:
    intervention = science.get("intervention") or {"name": "none"}
    flat = as_of_today(_flat({**_without_neutral(science), "intervention": intervention}))
    for name in (*SEEDS, "activation.name", "benchmark.name", "intervention.name", *MEASURED_BESIDE):
        flat.pop(name, None)
    flat |= apart
    own = {name: value for name, value in flat.items() if _belongs_to_the_activation(name)}
    return _Settings(
        activation=science["activation"]["name"],
        benchmark=science["benchmark"]["name"],
        intervention=intervention["name"],
        own=own,
        study={name: value for name, value in flat.items() if name not in own},
    )


def _row(
    record: Mapping[str, Any], settings: _Settings, chosen: tuple[str, ...], declared: Declared, planned: bool
) -> Row:
    return Row(
        run=record["run"],
        activation=settings.activation,
        benchmark=settings.benchmark,
        intervention=settings.intervention,
        **dict(zip(NAMED_BY_THE_ASKER, chosen, strict=True)),
        seeds=tuple(record["science"].get(name) for name in SEEDS),
        status=record["status"],
        collapsed=bool(record.get("collapsed")),
        own=settings.own,
        study=settings.study,
        summary=record.get("summary") or {},
        declared=declared,
        provenance=record.get("provenance") or {},
        planned=planned,
        flags=record.get("flags") or {},
        diverged_at_step=record.get("diverged_at_step"),
        error=record.get("error"),
        stopped_at_step=record.get("stopped_at_step"),
    )


def _has_now(flat: Mapping[str, Any], key: str) -> bool:
    """Whether the option that a run was made of has that setting in this version."""
    group, _, setting = key.partition(".")
    return setting in option(group, str(flat.get(f"{group}.name")))


def _without_neutral(science: Mapping[str, Any]) -> dict[str, Any]:
    """Without groups of which a run has the option that changes no id; runs older than a group are its replicates."""
    neutral = {name: declared["neutral"] for name, declared in groups().items() if "neutral" in declared}
    return {
        name: value
        for name, value in science.items()
        if not (name in neutral and isinstance(value, Mapping) and value.get("name") == neutral[name])
    }


def _belongs_to_the_activation(name: str) -> bool:
    return name.startswith(("activation.", "intervention.")) or name == "optimizer.lr"


def _flat(science: Mapping[str, Any]) -> dict[str, Any]:
    """Groups of settings as dotted keys."""
    flat = {}
    for name, value in science.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{setting}": of for setting, of in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _says_what_it_was(record: Mapping[str, Any]) -> bool:
    science = record["science"]
    groups = [science.get(group) for group in ("activation", "benchmark")] if isinstance(science, Mapping) else [None]
    return all(isinstance(group, Mapping) and "name" in group for group in groups) and "seed" in science


def _planned(store: Store) -> tuple[Planned, list[str]]:
    ids: set[str] = set()
    runs: dict[str, Mapping[str, Any]] = {}
    damaged = []
    for sweep in sweeps_of(store):
        try:
            plan = read_plan(store, sweep)
        except OldFormat:
            raise  # passed over, its runs that wait would be missing
        except StoreError as error:
            damaged.append(str(error))
            continue
        ids |= {*plan.asked, *plan.runs}
        runs |= {name: {"science": run.science, "asked_as": run.asked_as} for name, run in plan.runs.items()}
    return Planned(ids, runs), damaged
