"""The classes that a record's numbers come from: those it names, or for an old record those that conf/ names today."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from plasticity_lab.component import load
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.measures import Column, Measures
from plasticity_lab.records.task_matrix import with_matrix
from plasticity_lab.run import Run, group_of, option_of

_CONF = Path(__file__).resolve().parents[2] / "conf"


@dataclass(frozen=True)
class Targets:
    """classes: address → class (see `Run.targets`). assumed: whether they are those of today's conf/, as the record is
    older than `targets`.
    """

    classes: Mapping[str, str]
    assumed: bool


def targets_of(record: Mapping[str, Any]) -> Targets:
    """The classes of a record, or of a run in plan.json.  Raises StoreError where an option is no longer in conf/."""
    if "targets" in record:
        return Targets(record["targets"], assumed=False)
    groups = {group: each["name"] for group, each in record["science"].items() if isinstance(each, Mapping)}
    return Targets({group: _of_today(group, name) for group, name in groups.items()}, assumed=True)


def measures_of(targets: Mapping[str, str], science: Mapping[str, Any] | None = None) -> Measures:
    """What a run's agent measures (a classifier, where none is named), and its intervention.  Raises ConfigError.

    science: its settings, where they are known: `benchmark.eval_matrix` says whether pairs of tasks are measured too.
    """
    # `agents` lies above: what an agent's class declares has no type here.
    agent: Any = load(targets["agent"]) if "agent" in targets else None
    measures = CLASSIFIER if agent is None else agent.measures
    if ((science or {}).get("benchmark") or {}).get("eval_matrix"):
        benchmark: Any = load(targets["benchmark"]) if "benchmark" in targets else None
        measures = with_matrix(measures, forward=not getattr(benchmark, "classes_come_once", False))
    networks = ("",) if agent is None else agent.networks
    own = [column.of_network(network) for network in networks for column in _columns_of_interventions(targets)]
    return measures.with_columns(own) if own else measures


def _columns_of_interventions(targets: Mapping[str, str]) -> Sequence[Column]:
    """What a run's intervention measures of itself, or each of several."""
    members: dict[str, Any] = {
        address: load(target) for address, target in targets.items() if group_of(address) == "intervention"
    }
    if not members:
        return ()
    first = next(iter(members.values()))
    return first.columns if len(members) == 1 else first.columns_of({option_of(at): cls for at, cls in members.items()})


def run_of(record: Mapping[str, Any]) -> tuple[Run, bool]:
    """The run that a record describes, and whether its classes are assumed.  Raises StoreError; see `targets_of`."""
    targets = targets_of(record)
    besides = record.get("besides", {})
    return Run(record["run"], record["science"], targets.classes, record["asked_as"], besides), targets.assumed


def check_targets(run: Run, record: Mapping[str, Any]) -> None:
    """Raises ConfigError if the record under the run's id is of another class than the one that is asked for now.

    An id holds the names of options, not their classes: an option of one's own that hides another shares its ids.
    """
    recorded, asked = record.get("targets", {}), run.trained_by
    if recorded == asked:
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
    """Whether two names mean one class. One of our own that is gone has moved: conf/ names a class once."""
    try:
        return load(before) is load(now)
    except ConfigError:
        return before.startswith("plasticity_lab.") and now.startswith("plasticity_lab.")


@cache
def _of_today(group: str, name: str) -> str:
    path = _CONF / group / f"{name}.yaml"
    try:
        target = yaml.safe_load(path.read_text(encoding="utf-8")).get("_target_")
    except (OSError, yaml.YAMLError, AttributeError):
        target = None
    if target is None:
        raise StoreError(f"The record does not say which class {group}={name} is, and {path} names none any more.")
    return target
