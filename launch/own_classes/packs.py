"""Small packs of a class, trained in this process; every number of every run is recorded bit for bit.

Legend: K runs.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from launch.own_classes.functions import Functions
from launch.own_classes.named import OwnClass
from launch.own_classes.promises import WATCHED
from launch.own_classes.tiny import Tiny
from plasticity_lab.agents import graphs
from plasticity_lab.agents.agent import Chunk, Learner, Task
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import agent_of, looked_at
from plasticity_lab.diagnostics.chosen import GROUP
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.records.bulk import as_tensors, filled_from
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.rows import Evaluation, Position, Rows
from plasticity_lab.run import Run
from plasticity_lab.trainer import train

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Scale:
    """The factor of a run's parameters before its first update.

    first: scales the first layer's parameters only, so that every layer's values grow by the factor and not by its
    powers.
    """

    factor: float
    first: bool = False


@dataclass(frozen=True)
class Event:
    """A number of one run, bit for bit, and when it was measured: "update 3"."""

    when: str
    name: str
    bits: bytes


class NoParameters(Exception):
    """A learner's state has no "parameters", which every learner of the package has."""


class _Stopped(Exception):
    pass


class _Events:
    """A journal and keeper that records every number of every run; the real journal checks shapes.

    stops: whether training stops at each of the keeper's turns.
    """

    def __init__(self, runs: Sequence[Run], stops: bool) -> None:
        self.journal, self.stops = Journal(len(runs), agent_of(runs[0]).measures), stops
        self.of_runs: list[list[Event]] = [[] for _ in runs]
        self.updates = 0

    @property
    def position(self) -> Position:
        """The pack's position."""
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

    def look(self, learner: Learner, journal: Any) -> None:
        """Takes the weights as they are now."""
        for name, values in learner.weights().items():
            self._add(f"the weights after update {self.updates}", name, values.numpy())
        if self.stops:
            raise _Stopped

    def task_ends(self, learner: Learner, task: Task) -> None:
        """Does nothing."""

    def _add(self, when: str, name: str, values: np.ndarray) -> None:
        for k, events in enumerate(self.of_runs):
            events.append(Event(when, name, np.ascontiguousarray(values[k]).tobytes()))


class Packs:
    """Packs of small runs of one class.

    checks_results: whether the results of the class's methods are checked. asked: method → the number of its calls.
    updates: updates per run in the last pack. learner: the last pack's.
    """

    def __init__(self, own: OwnClass, tiny: Tiny, checks_results: bool = True) -> None:
        self.own, self.tiny, self._checks_results = own, tiny, checks_results
        self.asked: dict[str, int] = {}
        self.updates = 0
        self.learner: Any = None

    def pack(
        self,
        numbers: Sequence[int],
        interrupted: bool = False,
        without: bool = False,
        scaled: Mapping[int, Scale] | None = None,
        functions: Functions | None = None,
    ) -> list[list[Event]]:
        """The events of each run of a pack.

        numbers: its small runs, by position in `tiny.runs`. interrupted: whether it is stopped and resumed after every
        part. without: whether the intervention is left out. scaled: position in the pack → the scale of this run's
        parameters. functions: looks at all calls of torch. Raises NoParameters.
        """
        runs = [self.tiny.runs[number] for number in numbers]
        events, checkpoint = _Events(runs, interrupted), None
        if scaled:
            checkpoint = _scaled(_dumped(self._assembled(runs, without)[1]), scaled)
        watched = graphs.watched_instead(functions.compiles) if functions else contextlib.nullcontext()
        with watched, functions or contextlib.nullcontext():
            while True:
                stream, learner = self._assembled(runs, without, compiled=functions is not None)
                if checkpoint is not None:
                    state, bulk = _loaded(checkpoint)
                    learner.load(state, filled_from(learner.bulk(), bulk))
                try:
                    with np.errstate(all="ignore" if scaled else None):  # a scaled run is meant to overflow
                        train(stream, learner, events, events)
                except _Stopped:
                    checkpoint = _dumped(learner)
                else:
                    self.updates = events.updates
                    return events.of_runs

    def _assembled(self, runs: Sequence[Run], without: bool, compiled: bool = False) -> tuple[Any, Any]:
        group = self.own.group
        parts = parts_of(runs, observed=group == GROUP)
        if without:
            parts = parts.having("intervention", [NoIntervention() for _ in runs])
        elif group in WATCHED and self._checks_results:
            watched: list[Any] = [WATCHED[group](component) for component in parts.components[group]]
            parts = parts.having(group, watched)
            watched[0].asked = self.asked  # one count for all packs
        stream, self.learner = agent_of(runs[0]).learner(parts, self.tiny.resource, CPU, compiled)
        return stream, looked_at(runs, self.tiny.resource, self.learner)[0]


def _dumped(learner: Learner) -> bytes:
    return _saved((learner.state(), as_tensors(learner.bulk())))


def _saved(content: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def _loaded(checkpoint: bytes) -> Any:
    return torch.load(io.BytesIO(checkpoint), weights_only=True)


def _scaled(checkpoint: bytes, scaled: Mapping[int, Scale]) -> bytes:
    """A checkpoint with the parameters of some runs multiplied."""
    state, bulk = _loaded(checkpoint)
    networks = [*_parameters_in(state)]
    if not networks:
        raise NoParameters
    for parameters in networks:
        for position, scale in scaled.items():
            for value in [*parameters.values()][: 1 if scale.first else None]:
                value[position] *= scale.factor
    return _saved((state, bulk))


def _parameters_in(state: Mapping[str, Any]) -> Iterator[Mapping[str, Tensor]]:
    """The parameters of every network in a learner's state, name → (K, ...)."""
    for name, value in state.items():
        if name == "parameters" and isinstance(value, Mapping):
            yield value
        elif isinstance(value, Mapping):
            yield from _parameters_in(value)
