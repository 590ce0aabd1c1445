"""The plan of a sweep in the store: what workers read, and later plans adopt."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping
from plasticity_lab.records.files import create_once, names, write_atomically
from plasticity_lab.records.identity import pack_id, sweep_id
from plasticity_lab.records.settings import Settings, checked, of_first_plans
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

FORMAT = 3
"""Plans of formats 1 and 2 are read as well: a pack's `family` was called its label there, and it had neither `updates`
nor `unit`, being of classifiers, whose steps are updates. Those of format 1 held only some of the settings."""
_FIELDS = {"format": int, "sweep": str, "command": list, "settings": dict, "packs": list, "asked": list, "runs": dict}
_PACK_FIELDS = {
    "id": str,
    "attempt": int,
    "runs": list,
    "family": str,
    "kind": str,
    "mode": str,
    "steps": int,
    "unit": str,
    "updates": int,
    "bytes": int,
    "seconds": int | float,
    "narrowed": bool,
}
_RUN_FIELDS = {"id": str, "science": dict, "targets": dict, "asked_as": list}
_ADVICE = "its sweep's command plans it anew, and finished runs are kept"
Item = TypeVar("Item")


class OtherFormat(StoreError):
    """A plan that another version of plasticity_lab has written; `sweep` is the sweep's id."""

    def __init__(self, path: Path, sweep: str, format: int) -> None:
        super().__init__(f"{path} has format {format}; this version reads formats 1 to {FORMAT}.")
        self.sweep = sweep


@dataclass(frozen=True)
class Pack:
    """Runs that one process trains at the same time on one device.

    family: what its runs are, in words. kind: the device kind it was planned for. steps: how long each run is, in its
    benchmark's `unit`. updates: of each run's network. bytes, seconds: estimated. narrowed: whether memory made it
    narrower than it would have been.
    """

    id: str
    attempt: int
    runs: tuple[str, ...]
    family: str
    kind: str
    mode: str
    steps: int
    unit: str
    updates: int
    bytes: int
    seconds: float
    narrowed: bool = False

    @property
    def width(self) -> int:
        """How many runs."""
        return len(self.runs)

    def halves(self) -> "list[Pack]":
        """The two packs that take its place where it cannot be trained whole: the same two, whoever asks."""
        return [self.part(half) for half in evenly(self.runs, 2)]

    def part(self, runs: Sequence[str]) -> "Pack":
        """The pack of some of its runs."""
        return replace(
            self,
            id=pack_id(runs, self.attempt, part_of=self.id),
            runs=tuple(runs),
            bytes=self.bytes * len(runs) // self.width,
            seconds=self.seconds * len(runs) / self.width,
        )

    @property
    def run_steps(self) -> int:
        """Steps of all its runs."""
        return self.steps * self.width

    def as_json(self) -> dict[str, Any]:
        """The pack as plan.json holds it."""
        return asdict(self) | {"width": self.width}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Pack":
        """A pack out of plan.json, whose fields are known to be right."""
        return Pack(**{name: value[name] for name in _PACK_FIELDS} | {"runs": tuple(value["runs"])})


@dataclass(frozen=True)
class Plan:
    """How a sweep is to be computed.

    runs: id → run, of every pack. packs: those of this sweep that were not finished when it was planned, the adopted
    ones of earlier plans whole. asked: the ids of all runs the command named, finished ones too. settings: those of the
    command.
    """

    sweep: str
    command: Sequence[str]
    asked: Sequence[str]
    runs: Mapping[str, Run]
    packs: Sequence[Pack]
    settings: Settings

    def runs_of(self, pack: Pack) -> list[Run]:
        """The runs of one pack, in its order."""
        return [self.runs[run] for run in pack.runs]


def write_plan(store: Store, plan: Plan) -> None:
    """Puts the plan in the store, replacing the sweep's earlier one; it has a line for each pack and each run.

    Raises StoreError.
    """
    content = {
        "format": FORMAT,
        "sweep": plan.sweep,
        "command": list(plan.command),
        "settings": plan.settings.model_dump(mode="json"),
        "packs": [pack.as_json() for pack in plan.packs],
        "asked": list(plan.asked),
        "runs": {name: run.as_json() for name, run in plan.runs.items()},
    }
    write_atomically(store.plan(plan.sweep), _in_lines(content).encode())


def read_plan(store: Store, sweep: str) -> Plan:
    """The plan of a sweep; packs that were divided since are replaced by their halves.

    Raises DamagedFile; OtherFormat; StoreError if there is no plan, or the disk does not answer.
    """
    path = store.plan(sweep)
    value = read_mapping(path, _ADVICE)
    if value is None:
        raise StoreError(f"There is no sweep {sweep} in {store.root}: {path} does not exist.")
    if isinstance(value.get("format"), int) and not 1 <= value["format"] <= FORMAT:
        raise OtherFormat(path, sweep, value["format"])
    if isinstance(value.get("packs"), list):
        value["packs"] = [_as_now(pack) for pack in value["packs"]]
    fault = _fault(value) or (None if value["sweep"] == sweep else "is the plan of another sweep")
    if fault:
        raise DamagedFile(path, fault, _ADVICE)
    packs = [Pack.from_json(pack) for pack in value["packs"]]
    runs = {name: Run.from_json(run) for name, run in value["runs"].items()}
    plan = Plan(value["sweep"], value["command"], value["asked"], runs, packs, _settings_in(value, path, store))
    return replace(plan, packs=in_parts(store, plan.packs))


def in_parts(store: Store, packs: Iterable[Pack]) -> list[Pack]:
    """The packs, divided ones replaced by their parts: halves, or those that were named.  Raises StoreError."""
    divided = set(names(store.divided_folder))

    def parts(pack: Pack) -> list[Pack]:
        if pack.id in divided:
            smaller = pack.halves()
        elif store.set_apart(pack.id).name in divided:
            smaller = _set_apart(store, pack)
        else:
            return [pack]
        return [part for each in smaller for part in parts(each)]

    return [part for pack in packs for part in parts(pack)]


def set_apart(store: Store, pack: Pack, runs: Collection[str]) -> None:
    """Puts two packs in the place of one: of the runs named, and of the others.  Raises StoreError."""
    rest = [run for run in pack.runs if run not in runs]
    parts = [rest, [run for run in pack.runs if run in runs]]
    create_once(store.set_apart(pack.id), json.dumps({"parts": parts}).encode())


def _set_apart(store: Store, pack: Pack) -> list[Pack]:
    """The two packs that `set_apart` has made of one; its halves where the file that says so is damaged."""
    try:
        value = read_mapping(store.set_apart(pack.id), "its halves take its place") or {}
    except DamagedFile:
        return pack.halves()
    parts = value.get("parts")
    whole = isinstance(parts, list) and all(isinstance(part, list) and part for part in parts)
    if not whole or sorted(run for part in parts for run in part) != sorted(pack.runs):
        return pack.halves()
    return [pack.part(part) for part in parts]


def sweeps_of(store: Store) -> list[str]:
    """The ids of all sweeps that have a plan.  Raises StoreError."""
    return [sweep for sweep in names(store.root / "sweeps") if store.plan(sweep).exists()]


def all_plans(store: Store, unreadable: list[StoreError]) -> Iterator[Plan]:
    """The plans of every sweep in the store; why one cannot be read is added to unreadable.

    Raises StoreError if the disk does not answer.
    """
    for sweep in sweeps_of(store):
        try:
            yield read_plan(store, sweep)
        except (DamagedFile, OtherFormat) as error:
            unreadable.append(error)


def evenly(runs: Sequence[Item], parts: int) -> list[list[Item]]:
    """The runs in order, cut into parts that differ by one run at most."""
    short, longer = divmod(len(runs), parts)
    ends = [short * (part + 1) + min(part + 1, longer) for part in range(parts)]
    return [list(runs[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def sweep_of(runs: Iterable[Run]) -> str:
    """The sweep id of runs, whatever their order."""
    return sweep_id(run.id for run in runs)


def _settings_in(value: Mapping[str, Any], path: Path, store: Store) -> Settings:
    """The settings of the command that a plan was made for.  Raises DamagedFile."""
    settings = value["settings"]
    try:
        return checked(Settings, settings if value["format"] > 1 else of_first_plans(settings, store.root))
    except KeyError as error:
        raise DamagedFile(path, f"lacks the setting {error.args[0]}", _ADVICE) from error
    except (ConfigError, TypeError, ValueError) as error:
        raise DamagedFile(path, f"holds settings that cannot be: {str(error).rstrip('.')}", _ADVICE) from error


def _as_now(pack: Any) -> Any:
    """A pack of a plan of any format as the latest has it; what is none stays as it is."""
    if not isinstance(pack, Mapping) or "label" not in pack or "steps" not in pack:
        return pack
    return {"family": pack["label"], "unit": "steps", "updates": pack["steps"], **pack}


def _fault(value: Mapping[str, Any]) -> str | None:
    """What is wrong with what a plan.json holds, but for its settings; None if nothing is."""
    if fault := fault_of_fields(value, _FIELDS):
        return fault
    packs = value["packs"]
    for pack in packs:
        if fault := fault_of_fields(pack, _PACK_FIELDS):
            return f"holds a pack that {fault}"
    for run in value["runs"].values():
        if fault := fault_of_fields(run, _RUN_FIELDS):
            return f"holds a run that {fault}"
    there = value["runs"].keys()
    named = [run for runs in (value["asked"], *(pack["runs"] for pack in packs)) for run in runs]
    if not all(isinstance(run, str) for run in named) or any(set(pack["runs"]) - there for pack in packs):
        return "lacks runs of its packs"
    return None


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
