"""The plan of a sweep in the store: what workers read, and later plans adopt."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.files import names, read, write_atomically
from plasticity_lab.records.identity import pack_id, sweep_id
from plasticity_lab.records.settings import Settings, checked, of_first_plans
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

FORMAT = 2
"""Plans of format 1 held some of the settings alone; they are read as well."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Pack:
    """Runs that one process trains at the same time on one device.

    kind: the device kind it was planned for. steps: of each run. bytes, seconds: estimated. narrowed: whether memory
    made it narrower than it would have been.
    """

    id: str
    attempt: int
    runs: tuple[str, ...]
    label: str
    kind: str
    mode: str
    steps: int
    bytes: int
    seconds: float
    narrowed: bool = False

    @property
    def width(self) -> int:
        """How many runs."""
        return len(self.runs)

    def halves(self) -> "list[Pack]":
        """The two packs that take its place where it cannot be trained whole: the same two, whoever asks."""
        return [
            replace(
                self,
                id=pack_id(half, self.attempt, part_of=self.id),
                runs=tuple(half),
                bytes=self.bytes * len(half) // self.width,
                seconds=self.seconds * len(half) / self.width,
            )
            for half in evenly(self.runs, 2)
        ]

    @property
    def run_steps(self) -> int:
        """Steps of all its runs."""
        return self.steps * self.width

    def as_json(self) -> dict[str, Any]:
        """The pack as plan.json holds it."""
        return asdict(self) | {"width": self.width}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Pack":
        """A pack out of plan.json."""
        fields = {name: value[name] for name in Pack.__dataclass_fields__}
        return Pack(**fields | {"runs": tuple(value["runs"])})


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
    """Puts the plan in the store, replacing the sweep's earlier one: a line a pack and a line a run.

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
    """The plan of a sweep, in place of packs that were divided since their parts.

    Raises StoreError if there is none that can be read.
    """
    path = store.plan(sweep)
    content = read(path)
    if content is None:
        raise StoreError(f"There is no sweep {sweep} in {store.root}: {path} does not exist.")
    try:
        value = json.loads(content)
        if value["format"] not in (1, FORMAT):
            raise StoreError(f"{path} has format {value['format']}; this version reads formats 1 to {FORMAT}.")
        packs = [Pack.from_json(pack) for pack in value["packs"]]
        runs = {name: Run.from_json(run) for name, run in value["runs"].items()}
        settings = value["settings"] if value["format"] == FORMAT else of_first_plans(value["settings"], store.root)
        plan = Plan(value["sweep"], value["command"], value["asked"], runs, packs, checked(Settings, settings))
    except (ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
        raise StoreError(
            f"{path} is damaged ({error}); delete it and give the sweep's command again, finished runs are kept."
        ) from error
    return replace(plan, packs=in_parts(store, plan.packs))


def in_parts(store: Store, packs: Iterable[Pack]) -> list[Pack]:
    """The packs, in place of the divided ones their halves.  Raises StoreError."""
    divided = set(names(store.divided_folder))

    def parts(pack: Pack) -> list[Pack]:
        return [part for half in pack.halves() for part in parts(half)] if pack.id in divided else [pack]

    return [part for pack in packs for part in parts(pack)]


def sweeps_of(store: Store) -> list[str]:
    """The ids of all sweeps that have a plan.  Raises StoreError."""
    return [sweep for sweep in names(store.root / "sweeps") if store.plan(sweep).exists()]


def all_plans(store: Store) -> Iterator[Plan]:
    """The plans of every sweep in the store."""
    for sweep in sweeps_of(store):
        yield read_plan(store, sweep)


def evenly(runs: Sequence[Item], parts: int) -> list[list[Item]]:
    """The runs in order, cut into parts that differ by one run at most."""
    short, longer = divmod(len(runs), parts)
    ends = [short * (part + 1) + min(part + 1, longer) for part in range(parts)]
    return [list(runs[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def sweep_of(runs: Iterable[Run]) -> str:
    """The sweep id of runs, whatever their order."""
    return sweep_id(run.id for run in runs)


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
