"""The content of a run in W&B: pure functions of its record and metrics, the same for live, offline and synced runs.

The name of a run is `leaky_relu negative_slope=0.3 lr=0.001 · permuted_digits · seed 3`. It is written without
knowledge of the other runs of its sweep, so it names everything that may differ among them. It always names the
searched numbers: settings of the activation, the learning rate, and the strength of an intervention. Every other choice
and setting is named unless it is the default of conf/.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
from omegaconf import OmegaConf

from launch.runs.groups import AUTO, COMPONENTS
from plasticity_lab.records.measures import Declared, Kind
from plasticity_lab.records.record_facts import flags_of
from plasticity_lab.run import JOINED

TAGGED = ("protocol", "schedule", "hyperparams")
"""The rules among the tags, written as in a command: `schedule=smoke`."""
_TAG_LENGTH = 64

Row = tuple[int, dict[str, Any]]
"""A row: its number in W&B (`_step`), and its values."""
CONF = Path(__file__).resolve().parents[3] / "conf"
LONGEST = 128
"""W&B refuses longer names."""

Choice = Mapping[str, Any]
"""A group in the science of a run: the name of the option, and its settings."""


def axes(declared: Declared) -> dict[str, str]:
    """Metrics → the axis of their plots in W&B: `epoch/*` → epoch."""
    return {f"{kind}/*": "step" if kind == "episode" else kind for kind in declared.kinds}


def metrics(declared: Declared) -> dict[Kind, list[str]]:
    """The columns that W&B gets of each kind of row: `epoch/aoa`, `task/final_accuracy`, …; marks with tasks."""
    columns: dict[Kind, list[str]] = {}
    for kind in declared.kinds:
        columns[kind] = [column.name for column in declared.columns_of(kind)]
    return {**columns, "task": [*columns["task"], *declared.marks]}


def rows(table: pa.Table, declared: Declared) -> Iterator[Row]:
    """The metrics of a run as W&B rows: one for each epoch; the last of a task has the values of the task too.

    The number of a row is its epoch, so rows that are written twice, or in parts, fall into the same place. There may
    be tens of thousands of episodes: an epoch's row has the mean over the episodes that ended in it, and their number
    as `episode/count`. Episodes of an unfinished epoch are in no row yet. Pairs of tasks are in no row, only in the
    summary.
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
    """The rows with the time of their training as W&B's `_timestamp`, if the record has the times of its training.

    Records have no time for each row: the steps are spread evenly from start to end.
    """
    rows, trained = list(parts), _trained(record)
    if not rows or trained is None:
        return rows
    start, end = trained
    pace = (end - start) / max(values["step"] for _, values in rows)
    return [(number, values | {"_timestamp": start + pace * values["step"]}) for number, values in rows]


def duration(record: Mapping[str, Any]) -> dict[str, Any]:
    """W&B's own entries about time in a summary, for a run that was trained before it is written.

    The seconds are the pack's training time, as for a run that is followed live. Returns {} if the record has no such
    time, for example after a failure.
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


def run_name(run: Mapping[str, Any]) -> str:
    """The name of a run (run, science), the same whether it is written live or from its record.

    A name that W&B would refuse is cut, and ends with the run id.
    """
    science = run["science"]
    groups: dict[str, Choice] = {key: value for key, value in science.items() if isinstance(value, Mapping)}
    benchmark, seed = groups["benchmark"]["name"], f"seed {science['seed']}"
    settings = {group: _settings(group, choice) for group, choice in groups.items()}
    others = sorted(groups.keys() - {"activation", "benchmark"})
    rate = [key for key in groups["optimizer"] if key == "lr"]
    parts = [
        [groups["activation"]["name"], *settings["activation"], *_words(groups["optimizer"], rate)],
        [benchmark, *settings["benchmark"]],
        *(
            [groups[group]["name"], *settings[group]]
            for group in others
            if settings[group] or not _usual(group, groups)
        ),
        [seed, *_words(science, _unusual_numbers(science))],
    ]
    name = " · ".join(" ".join(part) for part in parts)
    end = f"… · {seed} · {run['run']}"
    return name if len(name) <= LONGEST else name[: LONGEST - len(end)] + end


def _settings(group: str, choice: Choice) -> list[str]:
    """The named settings of a group, as `c=5`, without the learning rate.

    If a group has several options, the option precedes each setting: `redo.every=5`.
    """
    members = choice["name"].split(JOINED)
    if len(members) > 1:
        return [f"{each}.{word}" for each in members for word in _settings(group, {"name": each, **choice[each]})]
    # For an option outside conf/ this is empty, and all settings are named.
    default = _contents(f"{group}/{choice['name']}.yaml")

    def is_named(setting: str, value: Any) -> bool:
        if setting == "name" or (group, setting) == ("optimizer", "lr"):
            return False
        is_shape = group == "activation" and isinstance(value, float)
        searched = is_shape or (group, setting) == ("intervention", "strength")
        return searched or setting not in default or default[setting] != value

    return _words(choice, [setting for setting, value in choice.items() if is_named(setting, value)])


def _usual(group: str, groups: Mapping[str, Choice]) -> bool:
    """Whether the choice is the default in config.yaml or, if that is `auto`, the benchmark's default."""
    chosen: dict[str, Any] = {}
    for entry in _contents("config.yaml")["defaults"]:
        chosen |= entry if isinstance(entry, Mapping) else {}
    if chosen.get(group) == "auto" and group in AUTO:
        chosen[group] = _contents(f"benchmark/{groups['benchmark']['name']}.yaml").get(AUTO[group])
    return groups[group]["name"] == chosen.get(group)


def _unusual_numbers(science: Mapping[str, Any]) -> list[str]:
    """The keys of stream seed, init seed and precision that are not the default of config.yaml."""
    default = _contents("config.yaml")
    return [key for key in ("stream_seed", "init_seed", "precision") if science.get(key) != default[key]]


def _words(settings: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The settings as a command would say them: `c=5`, `half=true`, `steps=null`."""
    return [f"{name}={_text(settings[name])}" for name in names]


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@cache
def _contents(file: str) -> Mapping[str, Any]:
    """The content of a file of conf/; empty if there is no such file."""
    path = CONF / file
    content: Any = OmegaConf.to_container(OmegaConf.load(path)) if path.is_file() else {}
    return content
