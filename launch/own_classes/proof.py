"""The one equation, tried on a class: a run packed, with other mates and in other places, twice, and interrupted.

Legend: K runs, S updates.
"""

import io
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from launch.own_classes import formula, padding
from launch.own_classes.named import Fault, OwnClass, is_own, own_bases, place, place_of
from launch.own_classes.names import misnamed, uncallable
from launch.own_classes.promises import WATCHED, BrokenPromise
from launch.own_classes.tiny import Tiny
from plasticity_lab.agents.agent import Chunk, Learner, Task
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import agent_of, looked_at
from plasticity_lab.component import load
from plasticity_lab.diagnostics.chosen import GROUP
from plasticity_lab.errors import OwnClassError, PlasticityError
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.records.bulk import as_tensors, filled_from
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.position import Position
from plasticity_lab.records.rows import Evaluation, Rows
from plasticity_lab.run import Run
from plasticity_lab.trainer import train

CPU = torch.device("cpu")
MIXES = (
    "a number of one run has reached another (a sum, a mean or a sort over axis 0), or the first run's setting was "
    "taken for all (self.… in place of what the verb is given on the run axis)"
)


@dataclass(frozen=True)
class Case:
    """One pack that is tried.  title: what it is, places: which of the small runs stand in it, why: what a difference
    means.
    """

    title: str
    places: Sequence[int]
    why: str
    interrupted: bool = False


CASES = (
    Case(
        "again, in the same process",
        [0],
        "something is kept from one pack to the next (a global variable, an attribute of the class), or drawn from a "
        "global generator",
    ),
    Case("in a pack of 2", [0, 1], MIXES),
    Case("in a pack of 3", [0, 1, 2], MIXES),
    Case("in a pack of 3 in another order", [2, 0, 1], MIXES),
    Case("in a pack of 5, some runs twice", [1, 2, 1, 0, 2], MIXES),
    Case(
        "alone, stopped and resumed after every part",
        [1],
        "a number is kept in the object, where no checkpoint finds it; it belongs into the state",
        interrupted=True,
    ),
)


@dataclass(frozen=True)
class Event:
    """A number of one run, bit for bit, and when it was measured: "update 3", "update 3: …"."""

    when: str
    name: str
    bits: bytes


@dataclass
class Proof:
    """What was tried on a class.

    asked: verb → how often it was called. updates: of each run. outcomes: what was tried, and what was wrong then.
    notes: what could not be tried, or is worth knowing.
    """

    description: str = ""
    updates: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    outcomes: list[tuple[str, Fault | None]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


LOOKS: Mapping[str, Mapping[str, Callable[[OwnClass, Tiny, Learner], Fault | None]]] = {
    "activation": {formula.TITLE: formula.depends_on_place},
    "intervention": {padding.TITLE: padding.filled_up},
    "optimizer": {padding.TITLE: padding.filled_up},
}
"""What else is tried on the classes of a group: in words, and what finds the fault in a learner that has trained."""


class _Stopped(Exception):
    pass


class _Events:
    """A journal in which every number of every run stays as it was measured; the real one looks at shapes."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.journal = Journal(len(runs), agent_of(runs[0]).measures)
        self.of_runs: list[list[Event]] = [[] for _ in runs]
        self.updates = 0

    @property
    def position(self) -> Position:
        """Where the pack stands."""
        return self.journal.position

    def add_chunk(self, chunk: Chunk, rows: Rows) -> None:
        """Takes a chunk's measurements."""
        self.journal.add_chunk(chunk, rows)
        for row in range(len(next(iter(rows.updates.values()), ()))):
            self.updates += 1
            for name, values in rows.updates.items():
                self._add(f"update {self.updates}", name, values[row])
        for name, values in rows.values.items():
            self._add(f"the epoch that ends with update {self.updates}", name, values)
        if rows.episodes is not None:
            for k, events in enumerate(self.of_runs):
                ended = rows.episodes.run == k
                for name, values in {"step": rows.episodes.step, **rows.episodes.values}.items():
                    events.append(Event(f"update {self.updates}", f"episodes' {name}", values[ended].tobytes()))

    def add_task(self, task: Task, evaluation: Evaluation) -> None:
        """Takes a task's evaluation."""
        self.journal.add_task(task, evaluation)
        for name, values in evaluation.items():
            self._add(f"the evaluation of task {task.position + 1}", name, values)

    def look(self, learner: Learner, stops: bool) -> None:
        """Takes the weights as they are now."""
        for name, values in learner.weights().items():
            self._add(f"the weights after update {self.updates}", name, values.numpy())
        if stops:
            raise _Stopped

    def _add(self, when: str, name: str, values: np.ndarray) -> None:
        for k, events in enumerate(self.of_runs):
            events.append(Event(when, name, np.ascontiguousarray(values[k]).tobytes()))


@dataclass(frozen=True)
class _Keeper:
    stops: bool

    def look(self, learner: Learner, journal: Any) -> None:
        journal.look(learner, self.stops)


class Trained:
    """Packs of small runs with one class looked at.  watched: what looks; None of a class that has no wrapper."""

    def __init__(self, own: OwnClass, tiny: Tiny) -> None:
        self.own, self.tiny = own, tiny
        self.asked: dict[str, int] = {}
        self.updates = 0
        self.learner: Any = None

    def pack(self, places: Sequence[int], interrupted: bool = False, without: bool = False) -> list[list[Event]]:
        """The events of each run of a pack.  without: the intervention."""
        runs = [self.tiny.runs[place] for place in places]
        events, kept = _Events(runs), None
        while True:
            stream, learner = self._assembled(runs, without)
            if kept is not None:
                state, bulk = torch.load(io.BytesIO(kept), weights_only=True)
                learner.load(state, filled_from(learner.bulk(), bulk))
            try:
                train(stream, learner, events, _Keeper(interrupted))
            except _Stopped:
                buffer = io.BytesIO()
                torch.save((learner.state(), as_tensors(learner.bulk())), buffer)
                kept = buffer.getvalue()
            else:
                self.updates = events.updates
                return events.of_runs

    def _assembled(self, runs: Sequence[Run], without: bool) -> tuple[Any, Any]:
        parts, group = parts_of(runs, observed=self.own.group == GROUP), self.own.group
        if without:
            parts = parts.having("intervention", [NoIntervention() for _ in runs])
        elif group in WATCHED:
            seen: list[Any] = [WATCHED[group](each) for each in parts.components[group]]
            parts = parts.having(group, seen)
            seen[0].asked = self.asked  # one count for all packs
        stream, self.learner = agent_of(runs[0]).learner(parts, self.tiny.resource, CPU, False)
        return stream, looked_at(runs, self.tiny.resource, self.learner)[0]


def proved(own: OwnClass, tinies: Iterator[Tiny]) -> Proof:
    """Trains small packs of the class and compares them with the runs alone, bit for bit, in eager mode on the CPU."""
    proof = Proof()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as workers have it
    try:
        for tiny in tinies:
            packs, proof.description, proof.notes, proof.faults = Trained(own, tiny), tiny.description, [], []
            try:
                alone = [packs.pack([place])[0] for place in range(len(tiny.runs))]
            except OwnClassError as error:
                proof.faults = [Fault(str(error).rstrip("."), place(own.cls))]
            except PlasticityError as error:  # what does not fit together is reported by planning, in the real sizes
                proof.notes = [_untrained(error)]
            except Exception as error:  # somebody's own code can raise anything; the next may be large enough for it
                proof.faults = [_raised(own, error)]
            else:
                _compare(own, packs, alone, proof)
                break
    except PlasticityError as error:
        proof.notes = [_untrained(error)]
    finally:
        torch.set_num_threads(threads)
    return proof


def _untrained(error: PlasticityError) -> str:
    return f"It could not be trained in small, so only its names were looked at: {error}"


def _compare(own: OwnClass, packs: Trained, alone: Sequence[Sequence[Event]], proof: Proof) -> None:
    """Adds what came out of every case."""
    proof.asked, proof.updates = packs.asked, packs.updates
    learner = type(packs.learner)
    if is_own(learner):
        contract = {name: value for name, value in vars(Learner).items() if not name.startswith("_")}
        for fault in [*misnamed(learner, contract), *uncallable(learner, contract)]:
            _note(proof, "names of its learner's verbs", fault)
    verbs = [verb for verb in packs.asked if any(verb in vars(base) for base in own_bases(own.cls))]
    where = place_of(own.cls, verbs[0]) if len(verbs) == 1 else place(own.cls)
    for case in CASES:
        try:
            fault = _different(where, case, packs.pack(case.places, case.interrupted), alone, packs.tiny)
        except Exception as error:
            fault = _raised(own, error)
        _note(proof, case.title, fault)
    for title, look in LOOKS.get(own.group, {}).items():
        try:
            fault = look(own, packs.tiny, packs.learner)
        except Exception as error:
            fault = _raised(own, error)
        _note(proof, title, fault)
    if not packs.updates:
        proof.notes.append("No update was taken in the small runs, so its verbs were hardly asked.")
    elif own.group == "intervention" and not proof.faults and packs.pack([0], without=True)[0] == list(alone[0]):
        proof.notes.append(f"It changed no number in {packs.updates} updates: they are those of intervention=none.")


def _different(
    where: str, case: Case, found: Sequence[Sequence[Event]], alone: Sequence[Sequence[Event]], tiny: Tiny
) -> Fault | None:
    """The first number of a pack that is not the run's own."""
    for at, which in enumerate(case.places):
        for ours, theirs in zip(alone[which], found[at], strict=False):
            if ours != theirs:
                run = f"run {at + 1} of {len(case.places)} (seed {tiny.runs[which].science['seed']})"
                what = f"{run}, {case.title}, differs from the run alone, first in {ours.when}, {ours.name}: {case.why}"
                return Fault(what, where)
        if len(alone[which]) != len(found[at]):
            return Fault(f"a run {case.title} measures more or less often than the run alone: {case.why}", where)
    return None


def _note(proof: Proof, title: str, fault: Fault | None) -> None:
    """Adds what came out of something that was tried."""
    proof.outcomes.append((title, fault))
    proof.faults += [] if fault is None else [fault]


def _raised(own: OwnClass, error: Exception) -> Fault:
    """What an error says of the class, and where in its own file it came up."""
    if isinstance(error, BrokenPromise):
        return Fault(error.what, place_of(own.cls, error.verb))
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, NotImplementedError) and frames:
        return Fault(f"'{frames[-1].name}' is not written, and it is needed", place(own.cls))
    files = {Path(place(base).rpartition(", line ")[0]) for base in own_bases(load(own.run.targets[own.group]))}
    inside = [frame for frame in frames if Path(frame.filename).absolute() in files]
    where = f"{Path(inside[-1].filename).absolute()}, line {inside[-1].lineno}" if inside else place(own.cls)
    first = (str(error).strip().splitlines() or ["without a word"])[0].rstrip(".")
    return Fault(f"small packs of it fail with {type(error).__name__}: {first}", where)
