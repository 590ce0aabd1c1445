"""Records → rows: one row for each run and each name under which it was asked for; what tables select from and group.

A run can be asked for under several names (by `default` and by `best` alike): each gives a row, so that each table
finds it. Runs that a plan names and that have no record yet are rows too, with the status `waiting`.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import CLASSIFIER, declared_in
from plasticity_lab.records.measures import Declared
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.record import all_records
from plasticity_lab.records.store import Store

NAMED_BY_THE_ASKER = ("protocol", "schedule", "hyperparams")
"""What only `asked_as` knows: names of choices, of which the run's science keeps the resolved values."""


@dataclass(frozen=True)
class Row:
    """One run under one name.

    seeds: what makes runs replicates of each other (seed, stream_seed, init_seed). own: the settings that belong to the
    activation (its shape parameters, its learning rate, the strength of an intervention), as dotted keys; study:
    all others, which a fair comparison holds fixed. summary: as stored (fractions); declared: what its numbers are.
    flags: what else its agent says of it. diverged_at_step, error: of a run that diverged or failed.
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
    records, corrupt = all_records(store)
    planned, damaged = _planned(store)
    good, incomplete = [], []
    for record in records:
        if _says_what_it_was(record):
            good.append(record)
        else:
            incomplete.append(f"{store.record(record['run'])} names no activation, benchmark or seed.")
    return rows(good, planned), [*map(str, corrupt), *incomplete, *damaged]


def rows(records: Iterable[Mapping[str, Any]], planned: Planned = NOTHING_PLANNED) -> list[Row]:
    """The rows of records and of the planned runs that have none.  A record is a mapping as in record.json."""
    recorded = {record["run"]: record for record in records}
    declared_of = _declarations(recorded.values())
    waiting = [{**run, "run": name, "status": "waiting"} for name, run in planned.runs.items() if name not in recorded]
    return [
        _row(record, chosen, declared_of(record), record["run"] in planned.ids)
        for record in [*recorded.values(), *waiting]
        for chosen in _names(record, planned.runs.get(record["run"], {}))
    ]


def key(settings: Mapping[str, Any]) -> str:
    """Settings as one comparable word: equal words, equal settings."""
    return json.dumps(settings, sort_keys=True)


def varying(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The keys, sorted, at which the settings are not all the same; one that is missing counts as null."""
    alike = list({key(one): one for one in settings}.values())
    names = sorted({name for one in alike for name in one})
    return [name for name in names if len({json.dumps(one.get(name)) for one in alike}) > 1]


def _names(*asked: Mapping[str, Any]) -> list[dict[str, str]]:
    """The distinct names that select tables, in the order they were given; a run nobody named has one row too."""
    chosen = [
        {choice: one.get(choice) or "unnamed" for choice in NAMED_BY_THE_ASKER}
        for each in asked
        for one in each.get("asked_as") or ()
    ]
    distinct = list({key(one): one for one in chosen}.values())
    return distinct or [dict.fromkeys(NAMED_BY_THE_ASKER, "unnamed")]


def _declarations(records: Collection[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], Declared]:
    """What the numbers of a record are: as it says, else as another record of its agent does, else a classifier's.

    Runs that failed or wait say nothing; nor do records of before. Alike declarations are one object: a store has a
    hundred thousand.
    """
    known: dict[str, Declared] = {}
    by_agent: dict[str | None, Declared] = {}
    for record in records:
        if said := record.get("measures"):
            known[key(said)] = by_agent[_agent(record)] = known.get(key(said)) or declared_in(record)
    classifier = CLASSIFIER.declared

    def declared_of(record: Mapping[str, Any]) -> Declared:
        said = record.get("measures")
        return known[key(said)] if said else by_agent.get(_agent(record), classifier)

    return declared_of


def _agent(record: Mapping[str, Any]) -> str | None:
    return (record["science"].get("agent") or {}).get("name")


def _row(record: Mapping[str, Any], chosen: Mapping[str, str], declared: Declared, planned: bool) -> Row:
    science = record["science"]
    intervention = science.get("intervention") or {"name": "none"}
    flat = _flat({**science, "intervention": intervention})
    seeds = tuple(flat.pop(name, None) for name in ("seed", "stream_seed", "init_seed"))
    # Runs with a stream or init seed of their own vary in less than the others do; they are no replicates of those.
    for name, value in zip(("stream_seed", "init_seed"), seeds[1:], strict=True):
        if value is not None:
            flat[name] = "set apart"
    for name in ("activation.name", "benchmark.name", "intervention.name"):
        flat.pop(name, None)
    own = {name: value for name, value in flat.items() if _belongs_to_the_activation(name)}
    return Row(
        run=record["run"],
        activation=science["activation"]["name"],
        benchmark=science["benchmark"]["name"],
        intervention=intervention["name"],
        **chosen,
        seeds=seeds,
        status=record["status"],
        collapsed=bool(record.get("collapsed")),
        own=own,
        study={name: value for name, value in flat.items() if name not in own},
        summary=record.get("summary") or {},
        declared=declared,
        provenance=record.get("provenance") or {},
        planned=planned,
        flags=record.get("flags") or {},
        diverged_at_step=record.get("diverged_at_step"),
        error=record.get("error"),
    )


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
        except StoreError as error:
            damaged.append(str(error))
            continue
        ids |= {*plan.asked, *plan.runs}
        runs |= {name: {"science": run.science, "asked_as": run.asked_as} for name, run in plan.runs.items()}
    return Planned(ids, runs), damaged
