"""The plan of a sweep in the store: what workers read, and later plans adopt."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records import plan_lines
from plasticity_lab.records.damage import DamagedFile, OldFormat, fault_of_fields, read_mapping, write_file
from plasticity_lab.records.files import create_once, names
from plasticity_lab.records.identity import pack_id, sweep_id
from plasticity_lab.records.plan_lines import Shortened
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

FORMAT = 4
"""Those of formats 1 to 3 are not read any more."""
_FIELDS = {"format": int, "sweep": str, "command": list, "settings": dict, "asked": list, "code": dict}
ADVICE = "its sweep's command plans it anew, and finished runs are kept"
Item = TypeVar("Item")


class OtherFormat(StoreError):
    """A plan that another version of plasticity_lab has written; `sweep` is the sweep's id."""

    def __init__(self, path: Path, sweep: str, format: int) -> None:
        super().__init__(f"{path} has format {format}; this version reads format {FORMAT}.")
        self.sweep = sweep


@dataclass(frozen=True, slots=True)
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

    @property
    def compiled(self) -> bool:
        """Whether its steps are compiled graphs."""
        return self.mode != "eager"

    @property
    def kernels(self) -> bool:
        """Whether these have our own kernels in them."""
        return self.mode == "kernels"

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


@dataclass(frozen=True)
class Plan:
    """How a sweep is to be computed.

    runs: id → run, of every pack. packs: those of this sweep that were not finished when it was planned, the adopted
    ones of earlier plans whole. asked: the ids of all runs the command named, finished ones too. settings: those of the
    command. code: by which it was planned, as `code_here` has it; empty where that is not known.
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
    """Puts the plan in the store, replacing the sweep's earlier one; it has a line for each pack and each run.

    planned_at: the time that its file has, in nanoseconds, by which sweeps are ordered; None: now.  Raises StoreError.
    """

    def fill(file: BinaryIO) -> None:
        file.writelines(part.encode() for part in _in_lines(plan))
        if planned_at is not None:  # before it has its name: who is killed then leaves no plan with another time
            file.flush()
            os.utime(file.fileno(), ns=(planned_at, planned_at))

    write_file(store.plan(plan.sweep), fill)


def read_plan(store: Store, sweep: str) -> Plan:
    """The plan of a sweep; packs that were divided since are replaced by their halves.

    Raises DamagedFile; OldFormat, OtherFormat; StoreError if there is no plan, or the disk does not answer.
    """
    path = store.plan(sweep)
    value = read_mapping(path, ADVICE)
    if value is None:
        raise StoreError(f"There is no sweep {sweep} in {store.root}: {path} does not exist.")
    format = value.get("format")
    if isinstance(format, int) and 1 <= format < FORMAT:
        raise OldFormat(path, f"is a plan of format {format}")
    if isinstance(format, int) and format != FORMAT:
        raise OtherFormat(path, sweep, format)
    fault = _fault(value) or (None if value["sweep"] == sweep else "is the plan of another sweep")
    if fault:
        raise DamagedFile(path, fault, ADVICE)
    return Plan(
        sweep=value["sweep"],
        command=value["command"],
        asked=value["asked"],
        runs=plan_lines.runs_in(value),
        packs=in_parts(store, (Pack(**pack) for pack in plan_lines.packs_in(value))),
        settings=settings_of(value["settings"], path),
        code=value["code"],
    )


def in_parts(store: Store, packs: Iterable[Pack]) -> list[Pack]:
    """The packs, divided ones replaced by their parts: halves, or those that were named.  Raises StoreError."""
    divided = set(names(store.divided_folder))
    if not divided:
        return list(packs)  # as in most stores, and asked by every worker for every pack

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
    """Puts two packs in the place of one: of the runs named, and of the others; one of all where these are none.

    Raises StoreError.
    """
    rest = [run for run in pack.runs if run not in runs]
    parts = [part for part in (rest, [run for run in pack.runs if run in runs]) if part]
    create_once(store.set_apart(pack.id), json.dumps({"parts": parts}).encode())


def _set_apart(store: Store, pack: Pack) -> list[Pack]:
    """The packs that `set_apart` has made of one; its halves where the file that says so is damaged."""
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
    """The plans of every sweep in the store; why one cannot be read is added to unreadable.

    Raises OldFormat; StoreError if the disk does not answer.
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


def settings_of(settings: Mapping[str, Any], path: Path) -> Settings:
    """The settings of the command that the plan of that path was made for.  Raises DamagedFile."""
    try:
        return checked(Settings, settings)
    except (ConfigError, TypeError, ValueError) as error:
        raise DamagedFile(path, f"holds settings that cannot be: {str(error).rstrip('.')}", ADVICE) from error


def _fault(value: Mapping[str, Any]) -> str | None:
    """What is wrong with what a plan.json holds, but for its settings; None if nothing is."""
    if fault := fault_of_fields(value, _FIELDS):
        return fault
    if not all(isinstance(run, str) for run in value["asked"]):
        return "lacks runs that its command named"
    return plan_lines.fault_of(value)


def _in_lines(plan: Plan) -> Iterator[str]:
    """The plan as JSON, with the members of its lists and mappings in a line each, one line after another."""
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
    # Known only when the last of them has been made short.
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


def _line(value: Any) -> str:
    return _SPELL(value)


_SPELL = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""`json.dumps` would make an encoder for each of a hundred thousand lines."""
