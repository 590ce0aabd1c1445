"""The plan of a sweep in the store, which workers read and later plans adopt."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records import plan_lines
from plasticity_lab.records.damage import DamagedFile, NewFormat, OldFormat, fault_of_fields, read_mapping, write_file
from plasticity_lab.records.files import create_once, names
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.plan_lines import Pack, Shortened
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

FORMAT = 4
"""Plans of formats 1 to 3 are not read any more."""
_FIELDS = {"format": int, "sweep": str, "command": list, "settings": dict, "asked": list, "code": dict}
ADVICE = "its sweep's command plans it again, and finished runs are kept"


class NewerPlan(NewFormat):
    """A plan of a newer version of plasticity_lab; `sweep` is the sweep's id."""

    def __init__(self, path: Path, sweep: str, format: int) -> None:
        super().__init__(path, "is a plan", format, FORMAT)
        self.sweep = sweep


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep.

    runs: id → run, for all packs. packs: the packs of this sweep that were not finished when it was planned; adopted
    packs of earlier plans are whole. asked: the ids of all runs that the command named, including finished ones.
    settings: the settings of the command. code: the code that planned it, as `code_here` returns it; empty if unknown.
    """

    sweep: str
    command: Sequence[str]
    asked: Sequence[str]
    runs: Mapping[str, Run]
    packs: Sequence[Pack]
    settings: Settings
    code: Mapping[str, str | None] = field(default_factory=dict)

    def runs_of(self, pack: Pack) -> list[Run]:
        """The runs of one pack, in its order."""
        return [self.runs[run] for run in pack.runs]


def write_plan(store: Store, plan: Plan, planned_at: int | None = None) -> None:
    """Writes the plan, replacing the sweep's earlier one; it has a line for each pack and each run.

    planned_at: the time of its file in nanoseconds, which orders sweeps; None: now.  Raises StoreError.
    """

    def fill(file: BinaryIO) -> None:
        file.writelines(part.encode() for part in _in_lines(plan))
        if planned_at is not None:  # before it has its name, so that no killed process leaves a plan with another time
            file.flush()
            os.utime(file.fileno(), ns=(planned_at, planned_at))

    write_file(store.plan(plan.sweep), fill)


def read_plan(store: Store, sweep: str) -> Plan:
    """The plan of a sweep; packs that were divided after planning are replaced by their parts.

    Raises DamagedFile; OldFormat, NewerPlan; StoreError if there is no plan, or the disk does not answer.
    """
    path = store.plan(sweep)
    value = read_mapping(path, ADVICE)
    if value is None:
        raise StoreError(f"There is no sweep {sweep} in {store.root}: {path} does not exist.")
    format = value.get("format")
    if isinstance(format, int) and 1 <= format < FORMAT:
        raise OldFormat(path, f"is a plan of format {format}")
    if isinstance(format, int) and format > FORMAT:
        raise NewerPlan(path, sweep, format)
    fault = _fault(value) or (None if value["sweep"] == sweep else "is the plan of another sweep")
    if fault:
        raise DamagedFile(path, fault, ADVICE)
    try:
        settings = checked(Settings, value["settings"])
    except (ConfigError, TypeError, ValueError) as error:
        raise DamagedFile(path, f"holds settings that cannot be: {str(error).rstrip('.')}", ADVICE) from error
    return Plan(
        sweep=value["sweep"],
        command=value["command"],
        asked=value["asked"],
        runs=plan_lines.StoredRuns(value["values"], value["runs_alike"], value["runs"]),
        packs=in_parts(store, plan_lines.packs_in(value)),
        settings=settings,
        code=value["code"],
    )


def in_parts(store: Store, packs: Iterable[Pack]) -> list[Pack]:
    """The packs; divided ones are replaced by their halves, or by the parts of `set_apart`.  Raises StoreError."""
    divided = set(names(store.divided_folder))
    if not divided:
        return list(packs)  # as in most stores; every worker calls this for every pack

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
    """Replaces a pack by two packs, one with the named runs and one with the others; by one if no others exist.

    Raises StoreError.
    """
    rest = [run for run in pack.runs if run not in runs]
    parts = [part for part in (rest, [run for run in pack.runs if run in runs]) if part]
    create_once(store.set_apart(pack.id), json.dumps({"parts": parts}).encode())


def _set_apart(store: Store, pack: Pack) -> list[Pack]:
    """The packs that `set_apart` has made from one; its halves if the file is damaged."""
    try:
        value = read_mapping(store.set_apart(pack.id), "its halves take its place") or {}
    except DamagedFile:
        return pack.halves()
    parts: Any = value.get("parts")
    whole = isinstance(parts, list) and all(isinstance(part, list) and part for part in parts)
    if not whole or sorted(run for part in parts for run in part) != sorted(pack.runs):
        return pack.halves()
    return [pack.part(part) for part in parts]


def sweeps_of(store: Store) -> list[str]:
    """The ids of all sweeps that have a plan.  Raises StoreError."""
    return [sweep for sweep in names(store.root / "sweeps") if store.plan(sweep).exists()]


def all_plans(store: Store, unreadable: list[StoreError]) -> Iterator[Plan]:
    """The plans of all sweeps in the store; adds the errors of unreadable plans to `unreadable`.

    Raises OldFormat; StoreError if the disk does not answer.
    """
    for sweep in sweeps_of(store):
        try:
            yield read_plan(store, sweep)
        except (DamagedFile, NewerPlan) as error:
            unreadable.append(error)


def sweep_of(runs: Iterable[Run]) -> str:
    """The sweep id of runs; their order does not count."""
    return sweep_id(run.id for run in runs)


def _fault(value: Mapping[str, Any]) -> str | None:
    """The fault of the content of a plan.json, without its settings; None without a fault."""
    if fault := fault_of_fields(value, _FIELDS):
        return fault
    if not all(isinstance(run, str) for run in value["asked"]):
        return "lacks runs that its command named"
    return plan_lines.fault_of(value)


def _in_lines(plan: Plan) -> Iterator[str]:
    """The plan as JSON, in parts, with one line for each member of its lists and mappings."""
    head = {
        "format": FORMAT,
        "sweep": plan.sweep,
        "command": list(plan.command),
        "code": dict(plan.code),
        "settings": plan.settings.model_dump(mode="json"),
    }
    short = Shortened()
    yield "{\n"
    for key, value in head.items():
        yield f" {_line(key)}: {_line(value)},\n"
    yield from _members("packs", "[]", (_line(short.pack(pack)) for pack in plan.packs))
    yield f',\n "asked": {_line(list(plan.asked))},\n'
    yield from _members("runs", "{}", (f"{_line(run.id)}: {_line(short.run(run))}" for run in plan.runs.values()))
    # Complete only after the last run was shortened.
    shared = {"packs_alike": short.packs_alike, "runs_alike": short.runs_alike, "values": short.values}
    for key, values in shared.items():
        yield ",\n"
        yield from _members(key, "[]", map(_line, values))
    yield "\n}\n"


def _members(key: str, brackets: str, lines: Iterable[str]) -> Iterator[str]:
    yield f" {_line(key)}: {brackets[0]}"
    before = "\n  "
    for line in lines:
        yield before + line
        before = ",\n  "
    yield brackets[1] if before == "\n  " else f"\n {brackets[1]}"


_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""The JSON of one line. `json.dumps` would make an encoder for each of a hundred thousand lines."""
