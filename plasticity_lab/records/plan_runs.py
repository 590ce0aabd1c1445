"""The runs of a plan as its file holds them: what many runs have alike is written once, and each run in a short line.

    "runs":   run → its place among the alike, and its seeds
    "alike":  what runs that differ in their seeds alone share: places among the values, null for a seed
    "values": settings of choices, maps of classes, lists of names; each once

A hundred thousand runs are read in a fraction of a second, and take a few hundred bytes of memory each.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plasticity_lab.run import Run

SEEDS = ("seed", "stream_seed", "init_seed")
"""The keys of a run's science that its own line holds."""
Line = list[Any]
"""A run in short: its place among the alike, and its seeds in the order of its science."""


class StoredRuns(Mapping[str, Run]):
    """Id → run, of what a plan's file holds; a run is put together when it is asked for."""

    def __init__(
        self, values: Sequence[Any], alike: Sequence[Mapping[str, Any]], lines: Mapping[str, Sequence[Any]]
    ) -> None:
        self._values, self._alike, self._lines = values, alike, lines

    def __getitem__(self, run: str) -> Run:
        place, *own = self._lines[run]
        shared, values, seeds = self._alike[place], self._values, iter(own)
        science = {key: next(seeds) if at is None else values[at] for key, at in shared["science"].items()}
        return Run(run, science, values[shared["targets"]], values[shared["asked_as"]])

    def __contains__(self, run: object) -> bool:
        return run in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


class Shortened:
    """Runs made short one by one; afterwards `values` and `alike` hold what their lines refer to."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.alike: list[dict[str, Any]] = []
        self._place_of: dict[str, int] = {}
        # Settings are mostly the same objects; each is kept here, so that no other object is ever given its id.
        self._seen: dict[int, tuple[Any, int]] = {}
        self._alike_of: dict[tuple[Any, ...], int] = {}

    def line(self, run: Run) -> Line:
        """A run in short."""
        science = run.science
        places = [None if key in SEEDS else self._place(value) for key, value in science.items()]
        targets, asked_as = self._place(run.targets), self._place(run.asked_as)
        key = (*science, *places, targets, asked_as)
        if key not in self._alike_of:
            self._alike_of[key] = len(self.alike)
            named = dict(zip(science, places, strict=True))
            self.alike.append({"science": named, "targets": targets, "asked_as": asked_as})
        return [self._alike_of[key], *(value for name, value in science.items() if name in SEEDS)]

    def _place(self, value: Any) -> int:
        """Where a value stands among the values; equal ones are there once."""
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        word = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if word not in self._place_of:
            self._place_of[word] = len(self.values)
            self.values.append(value)
        self._seen[id(value)] = value, self._place_of[word]
        return self._place_of[word]


def fault_of_runs(plan: Mapping[str, Any]) -> str | None:
    """What is wrong with the runs that a plan's file holds under `values`, `alike` and `runs`; None if nothing is."""
    values, alike, lines = plan["values"], plan["alike"], plan["runs"]
    if not all(_is_shared(each, values) for each in alike):
        return "holds something else than it should under alike"
    seeds = [sum(at is None for at in each["science"].values()) for each in alike]
    for run, line in lines.items():
        # Written out, since it is asked of a hundred thousand lines.
        if not (type(line) is list and line and type(line[0]) is int and 0 <= line[0] < len(seeds)):
            return f"says of run {run} something else than it should"
        if len(line) != 1 + seeds[line[0]]:
            return f"says of run {run} another number of seeds than it should"
    return None


def _is_shared(value: Any, values: Sequence[Any]) -> bool:
    """Whether a value says what runs have alike, by places that there are."""
    if not (isinstance(value, dict) and value.keys() == {"science", "targets", "asked_as"}):
        return False
    science = value["science"]
    if not isinstance(science, dict):
        return False
    places = [*(at for at in science.values() if at is not None), value["targets"], value["asked_as"]]
    if not all(type(at) is int and 0 <= at < len(values) for at in places):
        return False
    return isinstance(values[value["targets"]], dict) and isinstance(values[value["asked_as"]], list)
