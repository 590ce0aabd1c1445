"""Packs, and the packs and runs of a plan in its file: a short line each, with shared parts written once.

    "packs":       [id, index into packs_alike, its runs]
    "packs_alike": all other fields of packs: device kind, mode, steps, estimates
    "runs":        run → [index into runs_alike, its seeds]
    "runs_alike":  shared by runs that differ only in their seeds: indices into the values, null for a seed
                   and the index of the settings of groups outside of science, if there are any
    "values":      settings of choices, maps of classes, lists of names

A plan of a hundred thousand runs is read in half a second, and takes a few hundred bytes of memory per run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from plasticity_lab.named_code import named_by_store
from plasticity_lab.records.damage import fault_of_fields
from plasticity_lab.records.identity import pack_id
from plasticity_lab.run import Run

Item = TypeVar("Item")
SEEDS = ("seed", "stream_seed", "init_seed")
"""The keys of a run's science that its line holds."""
_FIELDS = {"packs": list, "packs_alike": list, "runs": dict, "runs_alike": list, "values": list}


@dataclass(frozen=True, slots=True)
class Pack:
    """Runs that one process trains at the same time on one device.

    family: its kind of runs, in words. kind: the device kind it was planned for. steps: the length of each run in its
    benchmark's `unit`. updates: the number of updates of each run's network. bytes, seconds: estimates. narrowed:
    whether memory limits its width.
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
        """Its number of runs."""
        return len(self.runs)

    @property
    def compiled(self) -> bool:
        """Whether its steps are compiled graphs."""
        return self.mode != "eager"

    @property
    def kernels(self) -> bool:
        """Whether its graphs use our kernels."""
        return self.mode == "kernels"

    def halves(self) -> "list[Pack]":
        """The two packs that replace it if it cannot be trained whole; always the same two."""
        return [self.part(half) for half in evenly(self.runs, 2)]

    def part(self, runs: Sequence[str]) -> "Pack":
        """A pack of some of its runs."""
        return replace(
            self,
            id=pack_id(runs, self.attempt, part_of=self.id),
            runs=tuple(runs),
            bytes=self.bytes * len(runs) // self.width,
            seconds=self.seconds * len(runs) / self.width,
        )

    @property
    def run_steps(self) -> int:
        """The steps of all its runs together."""
        return self.steps * self.width


PACK_FIELDS = {field.name: field.type for field in fields(Pack) if field.name not in ("id", "runs")}
PACK_FIELDS["seconds"] = int | float
"""The fields of a pack except its id and its runs."""


class StoredRuns(Mapping[str, Run]):
    """Id → run, from a plan's file; a run is built at each access."""

    def __init__(
        self, values: Sequence[Any], alike: Sequence[Mapping[str, Any]], lines: Mapping[str, Sequence[Any]]
    ) -> None:
        self._values, self._alike, self._lines = values, alike, lines
        named_by_store(target for at in {each["targets"] for each in alike} for target in values[at].values())

    def __getitem__(self, run: str) -> Run:
        place, *own = self._lines[run]
        shared, values, seeds = self._alike[place], self._values, iter(own)
        science = {key: next(seeds) if at is None else values[at] for key, at in shared["science"].items()}
        besides = values[shared["besides"]] if "besides" in shared else {}
        return Run(run, science, values[shared["targets"]], values[shared["asked_as"]], besides)

    def __contains__(self, run: object) -> bool:
        return run in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


class Shortened:
    """Shortens packs and runs one by one; afterwards its lists hold the shared parts."""

    def __init__(self) -> None:
        self.packs_alike: list[dict[str, Any]] = []
        self.runs_alike: list[dict[str, Any]] = []
        self.values: list[Any] = []
        self._place_of: dict[str, int] = {}
        # Settings are mostly the same objects; each is kept here, so that no other object gets its id.
        self._seen: dict[int, tuple[Any, int]] = {}
        self._pack_place: dict[tuple[Any, ...], int] = {}
        self._run_place: dict[tuple[Any, ...], int] = {}

    def pack(self, pack: Pack) -> list[Any]:
        """The line of a pack."""
        key = tuple(getattr(pack, name) for name in PACK_FIELDS)
        if key not in self._pack_place:
            self._pack_place[key] = len(self.packs_alike)
            self.packs_alike.append(dict(zip(PACK_FIELDS, key, strict=True)))
        return [pack.id, self._pack_place[key], *pack.runs]

    def run(self, run: Run) -> list[Any]:
        """The line of a run."""
        science = run.science
        places = [None if key in SEEDS else self._place(value) for key, value in science.items()]
        targets, asked_as = self._place(run.targets), self._place(run.asked_as)
        besides = {"besides": self._place(run.besides)} if run.besides else {}
        key = (*science, *places, targets, asked_as, *besides.values())
        if key not in self._run_place:
            self._run_place[key] = len(self.runs_alike)
            named = dict(zip(science, places, strict=True))
            self.runs_alike.append({"science": named, "targets": targets, "asked_as": asked_as, **besides})
        return [self._run_place[key], *(value for name, value in science.items() if name in SEEDS)]

    def _place(self, value: Any) -> int:
        """The index of a value; equal values are stored once."""
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        word = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if word not in self._place_of:
            self._place_of[word] = len(self.values)
            self.values.append(value)
        self._seen[id(value)] = value, self._place_of[word]
        return self._place_of[word]


def packs_in(plan: Mapping[str, Any]) -> Iterator[Pack]:
    """The packs in a plan's file."""
    alike = plan["packs_alike"]
    return (Pack(id=line[0], runs=tuple(line[2:]), **alike[line[1]]) for line in plan["packs"])


def fault_of(plan: Mapping[str, Any]) -> str | None:
    """The fault of the packs and runs in a plan's file; None without a fault."""
    if fault := fault_of_fields(plan, _FIELDS):
        return fault
    runs, runs_alike, packs_alike = plan["runs"], plan["runs_alike"], plan["packs_alike"]
    if not all(_is_shared(each, plan["values"]) for each in runs_alike):
        return "holds something else than it should under runs_alike"
    seeds = [sum(at is None for at in each["science"].values()) for each in runs_alike]
    for run, line in runs.items():
        if not (type(line) is list and line and _is_place(line[0], runs_alike) and len(line) == 1 + seeds[line[0]]):
            return f"says of run {run} something else than it should"
    for each in packs_alike:
        if fault := fault_of_fields(each, PACK_FIELDS):
            return f"says of packs something that {fault}"
        if each.keys() != PACK_FIELDS.keys():
            return "says more of packs than it should"
    for line in plan["packs"]:
        names_a_pack = type(line) is list and len(line) > 1 and type(line[0]) is str and _is_place(line[1], packs_alike)
        if not (names_a_pack and all(type(run) is str and run in runs for run in line[2:])):
            return "says of a pack something else than it should, or lacks its runs"
    return None


def _is_place(at: Any, values: Sequence[Any]) -> bool:
    return type(at) is int and 0 <= at < len(values)


def _is_shared(value: Any, values: Sequence[Any]) -> bool:
    """Whether a value is valid in runs_alike: all its indices exist."""
    if not (isinstance(value, dict) and value.keys() - {"besides"} == {"science", "targets", "asked_as"}):
        return False
    science, kinds = value["science"], {"targets": dict, "asked_as": list, "besides": dict}
    return (
        isinstance(science, dict)
        and all(at is None or _is_place(at, values) for at in science.values())
        and all(
            _is_place(at, values) and isinstance(values[at], kinds[key]) for key, at in value.items() if key in kinds
        )
    )


def evenly(runs: Sequence[Item], parts: int) -> list[list[Item]]:
    """The runs in their order, cut into parts that differ by one run at most."""
    short, longer = divmod(len(runs), parts)
    ends = [short * (part + 1) + min(part + 1, longer) for part in range(parts)]
    return [list(runs[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
