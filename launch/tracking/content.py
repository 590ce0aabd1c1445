"""What W&B shows of a run: pure functions of its record and metrics, the same whether it is live, offline or synced."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

AXES = {"epoch/*": "epoch", "task/*": "task"}
"""Metrics, and the axis against which W&B draws them."""
METRICS = {"epoch": ("aoa", "train_loss"), "task": ("aoa", "train_loss", "final_accuracy", "hard")}
"""The columns of metrics.parquet that an event of each kind has: `epoch/aoa`, `task/final_accuracy`, and so on."""
_TAG_LENGTH = 64

Row = tuple[int, dict[str, Any]]
"""Its number in W&B (`_step`), and its values."""


def rows(table: pa.Table) -> Iterator[Row]:
    """The events of a run as W&B rows: one an epoch, and into the last of a task the values of the task too.

    A row's number is that of its epoch, so that rows written twice, or in parts, fall into the same place.
    """
    for event in table.to_pylist():
        kind = event["kind"]
        axes = {"epoch": event["epoch"], "task": event["task"], "step": event["step"]}
        measured = {f"{kind}/{name}": event[name] for name in METRICS[kind] if event[name] is not None}
        yield event["epoch"], axes | measured


def merged(parts: Iterable[Row]) -> dict[int, dict[str, Any]]:
    """Parts of rows by their number."""
    whole: dict[int, dict[str, Any]] = {}
    for number, values in parts:
        whole.setdefault(number, {}).update(values)
    return whole


def name(science: Mapping[str, Any]) -> str:
    """What a run is called in W&B's lists; its id is the run id."""
    return f"{science['activation']['name']} · {science['benchmark']['name']} · seed {science['seed']}"


def config(run: Mapping[str, Any]) -> dict[str, Any]:
    """The science config, and beside it under which names it was asked for.  run: a resolved run, or a record."""
    return {**run["science"], "asked_as": list(run["asked_as"])}


def tags(run: Mapping[str, Any]) -> list[str]:
    """Words to filter by: components, experiments, and of a finished run how it ended."""
    science = run["science"]
    words = [science[group]["name"] for group in ("activation", "benchmark", "intervention", "network", "optimizer")]
    words += [asked["experiment"] for asked in run["asked_as"] if asked.get("experiment")]
    words += [run["status"]] if "status" in run else []
    words += ["collapsed"] if run.get("collapsed") else []
    return list(dict.fromkeys(word[:_TAG_LENGTH] for word in words if word not in ("", "none")))


def summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record's summary, its status, and what went wrong."""
    ended = {"status": record["status"], "collapsed": record["collapsed"]}
    if "diverged_at_step" in record:
        ended["diverged_at_step"] = record["diverged_at_step"]
    if record["error"]:
        ended["error"] = record["error"].strip().splitlines()[-1]
    return {key: value for key, value in record["summary"].items() if value is not None} | ended
