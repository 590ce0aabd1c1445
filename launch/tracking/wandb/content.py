"""What W&B shows of a run: pure functions of its record and metrics, the same whether it is live, offline or synced."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Any

import pyarrow as pa

from launch.runs.groups import COMPONENTS
from plasticity_lab.records.measures import Declared, Kind
from plasticity_lab.records.record_facts import flags_of
from plasticity_lab.run import JOINED

TAGGED = ("protocol", "schedule", "hyperparams")
"""The rules among the tags, written as in a command: `schedule=smoke`."""
_TAG_LENGTH = 64

Row = tuple[int, dict[str, Any]]
"""Its number in W&B (`_step`), and its values."""


def axes(declared: Declared) -> dict[str, str]:
    """Metrics, and the axis against which W&B draws them: `epoch/*` → epoch."""
    return {f"{kind}/*": "step" if kind == "episode" else kind for kind in declared.kinds}


def metrics(declared: Declared) -> dict[Kind, list[str]]:
    """For each kind of row what W&B gets of it: `epoch/aoa`, `task/final_accuracy`, and so on; marks with tasks."""
    found: dict[Kind, list[str]] = {
        kind: [column.name for column in declared.columns_of(kind)] for kind in declared.kinds
    }
    return {**found, "task": [*found["task"], *declared.marks]}


def rows(table: pa.Table, declared: Declared) -> Iterator[Row]:
    """What a run has measured as W&B rows: one for each epoch; the last of a task has the values of the task too.

    A row's number is that of its epoch, so that rows written twice, or in parts, fall into the same place. There may be
    tens of thousands of episodes: an epoch's row has the mean of those that ended in it, and their number, as
    `episode/count`. Those of an epoch that has not ended are in no row yet. Pairs of tasks are in no row: W&B has what
    the summary makes of them.
    """
    named, ended = metrics(declared), []
    for event in table.to_pylist():
        kind = event["kind"]
        if kind == "episode":
            ended.append(event)
        if kind not in named or kind == "episode":
            continue
        at = {"epoch": event["epoch"], "task": event["task"], "step": event["step"]}
        measured = {f"{kind}/{name}": event[name] for name in named[kind] if event[name] is not None}
        if kind == "epoch" and "episode" in named:
            measured |= _mean(ended, named["episode"])
            ended = []
        yield event["epoch"], at | measured


def _mean(episodes: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, float]:
    measured = {name: [each[name] for each in episodes if each[name] is not None] for name in names}
    means = {f"episode/{name}": fmean(values) for name, values in measured.items() if values}
    return {**means, "episode/count": len(episodes)}


def merged(parts: Iterable[Row]) -> dict[int, dict[str, Any]]:
    """Parts of rows by their number."""
    whole: dict[int, dict[str, Any]] = {}
    for number, values in parts:
        whole.setdefault(number, {}).update(values)
    return whole


def last_values(parts: Iterable[Row]) -> dict[str, Any]:
    """The last value of everything that the rows hold, as W&B's summaries show it."""
    return {name: value for _, values in parts for name, value in values.items()}


def config(run: Mapping[str, Any]) -> dict[str, Any]:
    """The science config, and beside it under which names it was asked for.  run: science and asked_as, or a record."""
    return {**run["science"], "asked_as": list(run["asked_as"])}


def tags(run: Mapping[str, Any]) -> list[str]:
    """Words to filter by: components, experiments, rules, and of a finished run how it ended.

    A run that was asked for several times has the experiments and rules of all of them.
    """
    science = run["science"]
    tagged = [science[name]["name"] for name, group in COMPONENTS.items() if group.tagged and name in science]
    words = [option for name in tagged for option in name.split(JOINED)]
    words += [asked["experiment"] for asked in run["asked_as"] if asked.get("experiment")]
    words += [f"{rule}={asked[rule]}" for rule in TAGGED for asked in run["asked_as"] if asked.get(rule)]
    words += [run["status"]] if "status" in run else []
    words += flags_of(run)
    return list(dict.fromkeys(word[:_TAG_LENGTH] for word in words if word not in ("", "none")))


def summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record's summary, its status, and what went wrong."""
    ended = {"status": record["status"], "collapsed": bool(record.get("collapsed")), **record.get("flags", {})}
    ended |= {key: record[key] for key in ("diverged_at_step", "stopped_at_step") if key in record}
    if record["error"]:
        ended["error"] = record["error"].strip().splitlines()[-1]
    return {key: value for key, value in record["summary"].items() if value is not None} | ended


def dated(parts: Iterable[Row], record: Mapping[str, Any]) -> list[Row]:
    """The rows with the time of their training as W&B's `_timestamp`, where the record says when it was trained.

    Records do not say when each row was measured: the steps are spread evenly from start to end.
    """
    found, trained = list(parts), _trained(record)
    if not found or trained is None:
        return found
    start, end = trained
    pace = (end - start) / max(values["step"] for _, values in found)
    return [(number, values | {"_timestamp": start + pace * values["step"]}) for number, values in found]


def duration(record: Mapping[str, Any]) -> dict[str, Any]:
    """What W&B itself puts into a summary about time, for a run that was trained earlier than it is written.

    Its seconds are those in which its pack was trained, as a run that is followed live shows them; nothing where the
    record does not say (a run that failed).
    """
    seconds, trained = record["provenance"].get("pack_seconds"), _trained(record)
    if seconds is None or trained is None:
        return {}
    return {"_runtime": seconds, "_timestamp": trained[1], "_wandb": {"runtime": round(seconds)}}


def _trained(record: Mapping[str, Any]) -> tuple[float, float] | None:
    """When training began and ended, in seconds since 1970."""
    source = record["provenance"]
    if "start" not in source or "end" not in source:
        return None
    start, end = (datetime.fromisoformat(source[key]).timestamp() for key in ("start", "end"))
    return start, max(start, end)
