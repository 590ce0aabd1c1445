"""The parts of a learner shared by all agents that act in environments.

Legend: K runs, E episodes of a test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import Act, episode_returns, episodes_of, mean_return
from plasticity_lab.agents.acting.film import filmed
from plasticity_lab.agents.acting.memory import Memory, MemorySettings
from plasticity_lab.agents.acting.remembering import Remembering
from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Call, compile_together
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Segment, Stage
from plasticity_lab.environments.environments import Ended, Environments
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Evaluation, Rows

ASSAY_ROWS = "rows for assays"
"""Name of the inputs that are kept for assays with the weights of a task's end (`Settings.assay_rows`)."""


class ActingLearner:
    """K runs, each in separate environments.

    A run is unstable if an observation, an action, a reward or a loss is not finite. It then returns to its numbers
    from the beginning of the chunk, keeps stepping with them, and learns no more. Other runs of the pack are not
    affected.

    environments: number of environments of each run.
    networks: all networks that it trains.
    """

    facts: Mapping[str, float] = {}
    networks: Sequence[PackedNetwork]

    def __init__(self, environments: int, parts: Parts[BodyBenchmark], resource: Bodies) -> None:
        self.parts, self.bodies, self.runs = parts, resource.by_name, len(parts.init_seeds)
        self.count = environments
        self.unstable = np.zeros(self.runs, np.bool_)
        self.environments: Environments | None = None
        self._saved: Mapping[str, Any] = {}
        self._begun = False  # whether a task has begun, but no chunk of it

    def test_policy(self, task: Stage, episodes: int) -> Act:
        """The agent's policy in the test after a task."""
        raise NotImplementedError

    def new_environments(self, task: Stage, fresh: bool) -> Environments:
        """Environments for the task's body: new ones, or the checkpoint's in a resumed run."""
        self._begun = True
        body, seeds = self.bodies[task.body], self.parts.stream_seeds
        factors = self.parts.benchmark.friction_of(task.position, seeds)
        friction = None if factors is None else factors[:, None]
        processes = self.parts.processes.of(body, len(seeds) * self.count)
        self.environments = Environments(body, seeds, self.count, task.position, friction=friction, processes=processes)
        if not fresh:
            self.environments.load({name: value.numpy() for name, value in self._saved.items()})
        return self.environments

    def calls(self) -> Sequence[Call]:
        """All functions that a task may compile, with the arguments of a call in its first chunk."""
        raise NotImplementedError

    def compile(self) -> None:
        """Makes the graphs of a task for a CPU together, at the beginning of its first chunk."""
        if self._begun and self.networks[0].device.type == "cpu":
            compile_together(*self.calls())
        self._begun = False

    def evaluate(self, task: Stage) -> Evaluation:
        """The mean return in the benchmark's test (NaN without a test), the task's friction factor, and the
        intervention's measurements.
        """
        seeds, body, benchmark = self.parts.stream_seeds, self.bodies[task.body], self.parts.benchmark
        factors, frictions = benchmark.friction_of(task.position, seeds), benchmark.test_frictions(body)
        returns = np.full(self.runs, np.nan)
        if frictions is not None:
            processes = self.parts.processes.of(body, len(seeds) * len(frictions))
            policy = self.test_policy(task, len(frictions))
            returns = mean_return(episode_returns(body, seeds, frictions, policy, processes))
        measured = {"test_return": returns, "friction": np.ones(self.runs) if factors is None else factors}
        for network in self.networks:
            measured |= network.of_intervention()
        return measured

    def film(self, task: Stage) -> list[NDArray[Any]]:
        """For each run one further test episode as pictures (see `filmed`); [] if the environment has no pictures.

        Changes no state.  Raises ConfigError if this machine cannot draw them.
        """
        body = self.bodies[task.body]
        return filmed(body, self.parts.stream_seeds, self.test_policy(task, 1)) if body.has_pictures else []

    def end(self, task: Stage) -> None:
        """Intervention and optimizer end the task."""
        for network in self.networks:
            network.end_task(task.position)

    def state(self) -> State:
        """The flags of unstable runs, and the state of the environments."""
        environments = {} if self.environments is None else self.environments.state()
        return {"unstable": torch.tensor(self.unstable), "environments": tensors_of(environments)}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state; the environments follow in `new_environments`."""
        self.unstable = state["unstable"].numpy().copy()
        self._saved = dict(state["environments"])

    def with_unstable(self, means: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """Measurements of updates, name → (U, K), and "unstable". NaN for unstable runs, which keep no update."""
        rows = {name: np.where(self.unstable, np.nan, values) for name, values in means.items()}
        (shape,) = {values.shape for values in means.values()}
        return rows | {"unstable": np.broadcast_to(self.unstable.astype(np.float64), shape)}


class LearnerWithMemory(ActingLearner):
    """An agent that learns from a replay memory while it acts. Final classes implement acting and the update.

    A memory that was lost starts empty: nothing is learned until it holds `min_history` steps again.
    """

    agent: MemorySettings
    network: PackedNetwork
    memory: Memory
    timetable: Timetable
    actor: Remembering

    def begin(self, task: Stage, fresh: bool) -> None:
        """New environments, or the checkpoint's. The memory stays, unless each task begins with an empty one."""
        expected = [self._updates_of(position, task) for position in range(self.parts.benchmark.tasks)]
        for network in self.networks:
            network.expect(expected[task.position], sum(expected))
        if fresh:
            self.begin_task(task.position)
            if self.emptied:
                self.memory.clear()
        self.actor = self.actor_in(self.new_environments(task, fresh))

    def advance(self, chunk: Segment) -> Rows:
        """Acts for the steps of the chunk; updates and copies the target according to the timetable."""
        ended = list[tuple[Ended, int]]()
        self.begin_chunk()
        self.compile()
        for step in range(chunk.first, chunk.first + chunk.steps, self.count):
            after = step + self.count
            outcome = self.actor.step(step)
            if len(outcome.ended.run):
                ended.append((outcome.ended, after))
            for _ in range(self.timetable.updates(step, after, self.memory.steps)):
                self.update(step)
            if self.timetable.copies(step, after):
                self.copy_target()
        self.unstable |= ~(self.actor.finite & self.finite())
        if self.unstable.any():
            self.restore(self.unstable)
        return Rows(self.with_unstable(self.means()), episodes_of(ended))

    def state(self) -> State:
        """The state of the base class, with the counters and priorities of the memory."""
        return super().state() | self.memory.state()

    def bulk(self) -> Bulk:
        """The replay memory: an entry is a step of all environments."""
        return self.memory.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state. Without its bulk the memory is empty (see `Ring`)."""
        super().load(state, bulk)
        self.memory.load(state, bulk)
        self.timetable = replace(self.timetable, min_history=self.memory.warm_up(self.agent.min_history))

    def kept_inputs(self, most: int) -> dict[str, Tensor]:
        """Inputs of the measured network, drawn from the memory: ASSAY_ROWS → (K, most, D); {} if it is empty."""
        network = self.network
        batch = (
            self.memory.probe(network.updates, network.device, most) if self.timetable.learns(self.memory.steps) else {}
        )
        return {ASSAY_ROWS: self.inputs_in(batch)} if batch else {}

    def inputs_in(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The inputs of that network in a batch of the memory, as floats."""
        return as_floats(batch["x"])

    @property
    def emptied(self) -> bool:
        """Whether each task begins with an empty memory."""
        return self.agent.empty_each_task

    def _updates_of(self, position: int, task: Stage) -> int:
        """Updates in the task at that position, if the memory is never lost; all tasks have the same steps."""
        return self.agent.timetable.updates_of(position, task.steps, self.count, self.emptied)

    def actor_in(self, environments: Environments) -> Remembering:
        """The actor for these environments."""
        raise NotImplementedError

    def begin_task(self, position: int) -> None:
        """The work of intervention and optimizer before a task's first update."""
        raise NotImplementedError

    def begin_chunk(self) -> None:
        """Stores the numbers that an unstable run returns to, and prepares the inputs of the chunk's updates."""
        raise NotImplementedError

    def update(self, step: int) -> None:
        """One update from a batch of the memory. step: number of the run's steps before the last action."""
        raise NotImplementedError

    def copy_target(self) -> None:
        """Copies the network into its target. Does nothing by default, for targets that follow in each update."""

    def finite(self) -> NDArray[np.bool_]:
        """Whether all measurements and changes of the chunk's updates are finite, (K,)."""
        raise NotImplementedError

    def restore(self, runs: NDArray[np.bool_]) -> None:
        """Resets these runs (K,) to their numbers from the beginning of the chunk."""
        raise NotImplementedError

    def means(self) -> dict[str, NDArray[np.float64]]:
        """Measurements of the chunk's updates, name → (U, K)."""
        raise NotImplementedError


def tensors_of(state: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """The arrays of a state as tensors: copies."""
    return {name: torch.tensor(value) for name, value in state.items()}
