"""The classes that a record names, and their measures."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import isclose, isnan
from typing import TYPE_CHECKING, Any

from plasticity_lab.component import load
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.classifier import CLASSIFIER, declared_in
from plasticity_lab.records.measures import Column, Measures
from plasticity_lab.run import Run, group_of, option_of

if TYPE_CHECKING:
    import pyarrow as pa


def measures_of(targets: Mapping[str, str], science: Mapping[str, Any] | None = None) -> Measures:
    """The measures of a run's agent (a classifier's if none is named) and its intervention.  Raises ConfigError.

    science: its settings, if they are known: `benchmark.eval_matrix` adds the measures of pairs of tasks, and
    `perturbation` the measures of a perturbation.
    """
    # The package `agents` depends on `records`, so an agent's class has no type here.
    agent: Any = load(targets["agent"]) if "agent" in targets else None
    measures = CLASSIFIER if agent is None else agent.measures
    if ((science or {}).get("benchmark") or {}).get("eval_matrix"):
        from plasticity_lab.records.task_matrix import with_matrix  # NumPy, which few runs need here

        benchmark: Any = load(targets["benchmark"]) if "benchmark" in targets else None
        measures = with_matrix(measures, forward=not getattr(benchmark, "classes_come_once", False))
    perturbation = (science or {}).get("perturbation")
    if perturbation and "perturbation" in targets:
        perturbs: Any = load(targets["perturbation"])
        measures = perturbs.measures(measures, {key: value for key, value in perturbation.items() if key != "name"})
    networks = ("",) if agent is None else agent.networks
    if agent is not None and "network" in targets:
        networks = agent.networks_beside(load(targets["network"]))
    own = [column.of_network(network) for network in networks for column in _columns_of_interventions(targets)]
    return measures.with_columns(own) if own else measures


def differs_from_metrics(record: Mapping[str, Any], table: "pa.Table") -> list[str]:
    """The summary values of a record that do not follow from its metrics, except its size and its seconds.

    Raises ConfigError if a class of the run cannot be imported any more.
    """
    measures = measures_of(record["targets"], record["science"])
    known = {column.name for column in measures.columns}
    measures = measures.with_columns([each for each in declared_in(record).columns if each.name not in known])
    expected = measures.summarise(table)
    said = {name: value for name, value in record["summary"].items() if name not in ("parameters", "seconds")}
    return [name for name, value in said.items() if not _equal(value, expected.get(name))]


def _equal(one: Any, other: float | None) -> bool:
    """Whether a stored value is the computed one.  one: any value of JSON, since a user may have changed it."""
    if one is None:
        return other is None or isnan(other)
    if other is None or not isinstance(one, int | float):
        return False
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) or (isnan(one) and isnan(other))


def _columns_of_interventions(targets: Mapping[str, str]) -> Sequence[Column]:
    """The columns of a run's intervention, or of each of several."""
    members: dict[str, Any] = {
        address: load(target) for address, target in targets.items() if group_of(address) == "intervention"
    }
    if not members:
        return ()
    first = next(iter(members.values()))
    return first.columns if len(members) == 1 else first.columns_of({option_of(at): cls for at, cls in members.items()})


def run_of(record: Mapping[str, Any]) -> tuple[Run, bool]:
    """The run of a record, and whether its classes are assumed.

    For records older than `targets`, the migration of the store took the classes in conf/.  Raises StoreError if conf/
    lacked one of its options.
    """
    science, targets, assumed = record["science"], record["targets"], bool(record.get("targets_assumed"))
    chosen = {group: each["name"] for group, each in science.items() if isinstance(each, Mapping)} if assumed else {}
    for group, name in chosen.items():
        if group not in targets:
            raise StoreError(
                f"The record of run {record['run']} does not say which class {group}={name} is: an earlier version "
                "wrote it, and conf/ had no such option any more when the store was migrated."
            )
    return Run(record["run"], science, targets, record["asked_as"], record.get("besides", {})), assumed


def check_targets(run: Run, record: Mapping[str, Any]) -> None:
    """Raises ConfigError if the record of the run's id names another class than the run.

    An id contains the names of options, not their classes: a user's option that hides another one shares its ids.
    """
    recorded, asked = record["targets"], run.trained_by
    if recorded == asked or record.get("targets_assumed"):
        return
    for address in recorded.keys() & asked.keys():
        before, now = recorded[address], asked[address]
        if before != now and not _are_one(before, now):
            group, name = group_of(address), run.name(address)
            raise ConfigError(
                f"Run {run.id} is in the store already with {group}={name} of the class {before}, and here "
                f"{group}={name} is {now}: two classes under one name share run ids, so give one of the options "
                "another name, or use another store (store=FOLDER)."
            )


@cache
def _are_one(before: str, now: str) -> bool:
    """Whether two names are of one class. If a class of ours does not exist, it has moved: conf/ names a class once."""
    try:
        return load(before) is load(now)
    except ConfigError:
        return before.startswith("plasticity_lab.") and now.startswith("plasticity_lab.")
