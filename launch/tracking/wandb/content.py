"""The content of a run in W&B: pure functions of its record and metrics, the same for live, offline and synced runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Any

import pyarrow as pa

from launch.runs.groups import COMPONENTS
from plasticity_lab.records.measures import Column, Declared, Kind
from plasticity_lab.records.record_facts import flags_of
from plasticity_lab.run import JOINED

TAGGED = ("protocol", "schedule", "hyperparams")
"""The rules among the tags, written as in a command: `schedule=smoke`."""
_TAG_LENGTH = 64

AXIS = "global_step"
"""The axis of every plot: the run's steps, in the unit of its benchmark (environment steps, or updates)."""
SPEED = "SPS"
JOB_TYPE = "train"
Row = tuple[int, dict[str, Any]]
"""A row: its number in W&B (`_step`), and its values."""


def axes(declared: Declared) -> dict[str, str]:
    """Metrics → the axis of their plots in W&B, AXIS for all: `epoch/*`, …, and the numbers of epochs and tasks."""
    return dict.fromkeys(["epoch", "task", *(f"{kind}/*" for kind in declared.kinds)], AXIS)


def metrics(declared: Declared) -> dict[Kind, list[str]]:
    """The columns that W&B gets of each kind of row, each column once: `epoch/train_loss`, …; marks with tasks."""
    columns: dict[Kind, list[str]] = {kind: [] for kind in declared.kinds}
    for column in declared.curves:
        columns[_kind_of(column)].append(column.name)
    columns["task"] += declared.marks
    return columns


def _kind_of(column: Column) -> Kind:
    """The kind of the rows that show a column.

    If both epochs and tasks have a mean of it, a performance, as the online accuracy, is shown for tasks, and every
    other number for epochs.
    """
    return column.own_kinds[0 if column.measure.better else -1]


def rows(table: pa.Table, declared: Declared) -> Iterator[Row]:
    """The metrics of a run as W&B rows: one for each epoch; the last of a task has the values of the task too.

    The number of a row is the run's step when its epoch ended, so rows that are written twice, or in parts, fall into
    the same place. Epochs and tasks are counted from 1, as in figures. There may be tens of thousands of episodes: an
    epoch's row has the mean over the episodes that ended in it, and their number as `episode/count`. Episodes of an
    unfinished epoch are in no row yet. Pairs of tasks are in no row, only in the summary.
    """
    named, ended = metrics(declared), []
    for event in table.to_pylist():
        kind = event["kind"]
        if kind == "episode":
            ended.append(event)
        if kind not in named or kind == "episode":
            continue
        at = {AXIS: event["step"], "epoch": event["epoch"] + 1, "task": event["task"] + 1}
        measured = {f"{kind}/{name}": event[name] for name in named[kind] if event[name] is not None}
        if kind == "epoch" and "episode" in named:
            measured |= _mean(ended, named["episode"])
            ended = []
        yield event["step"], at | measured


def _mean(episodes: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, float]:
    measured = {name: [episode[name] for episode in episodes if episode[name] is not None] for name in names}
    means = {f"episode/{name}": fmean(values) for name, values in measured.items() if values}
    return {**means, "episode/count": len(episodes)}


def merged(parts: Iterable[Row]) -> dict[int, dict[str, Any]]:
    """Merges parts of rows: number of the row → its values."""
    whole: dict[int, dict[str, Any]] = {}
    for number, values in parts:
        whole.setdefault(number, {}).update(values)
    return whole


def last_values(parts: Iterable[Row]) -> dict[str, Any]:
    """The last value of each metric in the rows, for W&B's summary."""
    return {name: value for _, values in parts for name, value in values.items()}


def config(run: Mapping[str, Any]) -> dict[str, Any]:
    """The science config, and the names that commands used for the run.  run: science and asked_as, or a record."""
    return {**run["science"], "asked_as": list(run["asked_as"])}


def tags(run: Mapping[str, Any]) -> list[str]:
    """Words to filter by: components, experiments, rules, and the status of a finished run.

    A run that several commands asked for has the experiments and rules of all of them.
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
    """The record's summary, its status and its error."""
    ended = {"status": record["status"], "collapsed": bool(record.get("collapsed")), **record.get("flags", {})}
    ended |= {key: record[key] for key in ("diverged_at_step", "stopped_at_step") if key in record}
    if record["error"]:
        ended["error"] = record["error"].strip().splitlines()[-1]
    return {key: value for key, value in record["summary"].items() if value is not None} | ended


def dated(parts: Iterable[Row], record: Mapping[str, Any]) -> list[Row]:
    """The rows with W&B's `_timestamp` and `_runtime` of their training, if the record has the times of its training.

    Records have no time for each row: the steps are spread evenly over the training, without pauses, up to its end.
    """
    rows, trained = list(parts), _trained(record)
    if not rows or trained is None:
        return rows
    seconds, end = trained
    pace = seconds / rows[-1][0]
    return [
        (step, values | {"_timestamp": end - seconds + pace * step, "_runtime": pace * step}) for step, values in rows
    ]


def duration(record: Mapping[str, Any]) -> dict[str, Any]:
    """W&B's own entries about time in a summary, for a run that was trained before it is written.

    The seconds are the pack's training time, as for a run that is followed live. Returns {} if the record has no such
    time, for example after a failure.
    """
    trained = _trained(record)
    if trained is None:
        return {}
    seconds, end = trained
    return {"_runtime": seconds, "_timestamp": end, "_wandb": {"runtime": round(seconds)}}


def speed(record: Mapping[str, Any], steps: int) -> dict[str, float]:
    """SPS, the run's steps per second of training; {} for a run that ended before its pack.  steps: its last step."""
    trained = _trained(record)
    return {SPEED: steps / trained[0]} if trained is not None and trained[0] and record["status"] == "done" else {}


def _trained(record: Mapping[str, Any]) -> tuple[float, float] | None:
    """The seconds of training, and when it ended, in seconds since 1970."""
    source = record["provenance"]
    if "end" not in source or "pack_seconds" not in source:
        return None
    return source["pack_seconds"], datetime.fromisoformat(source["end"]).timestamp()
