"""The plan of a sweep in the store: what workers read, and later plans adopt."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from launch.divided import in_parts
from launch.planner import Pack
from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import names, read, write_atomically
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.store import Store

FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """How a sweep is to be computed.

    runs: id → resolved run, of every pack. packs: those of this sweep that were not finished when it was planned, the
    adopted ones of earlier plans whole. asked: the ids of all runs the command named, finished ones too. settings: what
    workers need besides (data, save_weights, checkpoint_minutes, lease_seconds, tracking), whether it is a rerun, and
    how often failed runs are retried.
    """

    sweep: str
    command: Sequence[str]
    asked: Sequence[str]
    runs: Mapping[str, Mapping[str, Any]]
    packs: Sequence[Pack]
    settings: Mapping[str, Any]

    def runs_of(self, pack: Pack) -> list[Mapping[str, Any]]:
        """The resolved runs of one pack, in its order."""
        return [self.runs[run] for run in pack.runs]

    @property
    def retries(self) -> float:
        """How often a failed run is planned again; plans from before there was a limit set none."""
        return self.settings.get("retries", math.inf)


def write_plan(store: Store, plan: Plan) -> None:
    """Puts the plan in the store, replacing the sweep's earlier one: a line a pack and a line a run.

    Raises StoreError.
    """
    content = {
        "format": FORMAT,
        "sweep": plan.sweep,
        "command": list(plan.command),
        "settings": dict(plan.settings),
        "packs": [pack.as_json() for pack in plan.packs],
        "asked": list(plan.asked),
        "runs": dict(plan.runs),
    }
    write_atomically(store.plan(plan.sweep), _in_lines(content).encode())


def read_plan(store: Store, sweep: str) -> Plan:
    """The plan of a sweep, in place of packs that were divided since their parts.

    Raises StoreError if there is none that can be read.
    """
    path = store.plan(sweep)
    content = read(path)
    if content is None:
        raise StoreError(f"There is no sweep {sweep} in {store.root}: {path} does not exist.")
    try:
        value = json.loads(content)
        if value["format"] != FORMAT:
            raise StoreError(f"{path} has format {value['format']}; this version reads format {FORMAT}.")
        packs = [Pack.from_json(pack) for pack in value["packs"]]
        plan = Plan(value["sweep"], value["command"], value["asked"], value["runs"], packs, value["settings"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} is damaged ({error}); delete it and give the sweep's command again, finished runs are kept."
        ) from error
    return replace(plan, packs=in_parts(store, plan.packs))


def all_plans(store: Store) -> Iterator[Plan]:
    """The plans of every sweep in the store."""
    for sweep in names(store.root / "sweeps"):
        if store.plan(sweep).exists():
            yield read_plan(store, sweep)


def sweep_of(runs: Sequence[Mapping[str, Any]]) -> str:
    """The sweep id of runs, whatever their order."""
    return sweep_id(run["id"] for run in runs)


def _in_lines(content: Mapping[str, Any]) -> str:
    """JSON with the members of its lists and mappings in a line each: ten times as fast as indented throughout."""
    parts = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            inside = ",\n  ".join(f"{_line(name)}: {_line(item)}" for name, item in value.items())
            parts.append(f" {_line(key)}: {{\n  {inside}\n }}" if value else f" {_line(key)}: {{}}")
        elif isinstance(value, list) and key != "asked":
            inside = ",\n  ".join(map(_line, value))
            parts.append(f" {_line(key)}: [\n  {inside}\n ]" if value else f" {_line(key)}: []")
        else:
            parts.append(f" {_line(key)}: {_line(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
