"""What SAC does with a pack: act, remember, and learn from what is remembered, step by step.

Legend: K runs, N environments of each, U updates of a chunk, A numbers of an action.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import episodes_of
from plasticity_lab.agents.acting.evaluation import episode_returns, mean_return
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork, Read
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac.acting import Actor
from plasticity_lab.agents.sac.learning import Learning
from plasticity_lab.agents.sac.policy import bounds_of, on_host
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import Segment, SegmentedTask, SegmentedTasks
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.environments import Ended, Environments
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Evaluation, Rows

Array = NDArray[Any]


class SACLearner:
    """K runs of SAC, each in environments of its own, with a memory of its own.

    A run of which an observation, an action, a reward or a loss is not finite is unstable: it goes back to the numbers
    that it began the chunk with, keeps stepping with them, and learns no more. Its mates do not notice.

    A memory that is lost begins empty: nothing is learned until it holds `min_history` steps again.

    learning: the networks, and what an update of them is. read: what acting needs of the actor's outputs.
    """

    facts: Mapping[str, float] = {}

    def __init__(
        self,
        agent: SACSettings,
        parts: Parts[BodyBenchmark],
        learning: Learning,
        read: Read,
        resource: Bodies,
        tasks: SegmentedTasks,
        compiled: bool,
    ) -> None:
        self.agent, self.parts, self.learning = agent, parts, learning
        self.bodies, self.body = resource.by_name, learning.body
        self.runs = learning.runs
        self.size = sum(network.model.size for network in learning.networks.values())
        acting = learning.networks[learning.acting]
        on_host = {name: value.cpu().numpy().astype(np.float64) for name, value in acting.settings["agent"].items()}
        self.reward_scale, self.timetable = on_host["reward_scale"], agent.timetable
        # More rows than a run has steps would never be written.
        capacity = min(agent.capacity, tasks.total_steps)
        self.memory = Memory(agent, self.body, parts.init_seeds, capacity, on_host["gamma"])
        self.bounds = bounds_of(self.body, torch.device("cpu"))
        self.acting = ActingNetwork(
            acting, self.body.name, (int(np.prod(self.body.observation)),), agent.environments, dtype=self.body.dtype,
            randomised=False, compiled=compiled, structure=parts.structure, kernels=parts.kernels, name=learning.acting,
            read=read,
        )  # fmt: skip
        self.unstable = np.zeros(self.runs, np.bool_)
        self.environments: Environments | None = None
        self._saved: Mapping[str, Any] = {}

    def begin(self, task: SegmentedTask, fresh: bool) -> None:
        """New environments, or those of a resumed run where it left them. The memory goes on, unless each task finds it
        empty.
        """
        agent, seeds, body = self.agent, self.parts.stream_seeds, self.bodies[task.body]
        if fresh:
            self.learning.begin_task(task.position)
            if agent.empty_each_task:
                self.memory.clear()
        factors = self.parts.benchmark.friction_of(task.position, seeds)
        friction = None if factors is None else factors[:, None]
        processes = self.parts.processes.of(body, len(seeds) * agent.environments)
        self.environments = Environments(
            body, seeds, agent.environments, task.position, friction=friction, processes=processes
        )
        self.actor = Actor(
            self.environments, self.acting, self.memory, self.bounds, self.parts.init_seeds, agent.min_history,
            self.reward_scale,
        )  # fmt: skip
        if not fresh:
            self.environments.load({name: value.numpy() for name, value in self._saved.items()})

    def advance(self, chunk: Segment) -> Rows:
        """Acts for the chunk's steps, and learns as often as is due meanwhile."""
        environments, learning, ended = self.agent.environments, self.learning, list[tuple[Ended, int]]()
        learning.begin_chunk()
        for step in range(chunk.first, chunk.first + chunk.steps, environments):
            then = step + environments
            outcome = self.actor.step(step)
            if len(outcome.ended.run):
                ended.append((outcome.ended, then))
            for _ in range(self.timetable.updates(step, then, self.memory.steps)):
                learning.update(self.memory)
        self.unstable |= ~(self.actor.finite & learning.finite())
        if self.unstable.any():
            learning.restore(self.unstable)
        means = learning.means(self.unstable)
        unstable = np.broadcast_to(self.unstable.astype(np.float64), (len(means["q"]), self.runs))
        return Rows(means | {"unstable": unstable}, episodes_of(ended))

    def evaluate(self, task: SegmentedTask) -> Evaluation:
        """How much the middle of the policy earns in the benchmark's test, the friction of the task, and the
        interventions' own.
        """
        seeds, body, benchmark = self.parts.stream_seeds, self.bodies[task.body], self.parts.benchmark
        factors, frictions = benchmark.friction_of(task.position, seeds), benchmark.test_frictions(body)
        returns = np.full(self.runs, np.nan)
        if frictions is not None:
            processes = self.parts.processes.of(body, len(seeds) * len(frictions))
            returns = mean_return(
                episode_returns(body, seeds, len(frictions), self._middle, frictions, processes=processes)
            )
        measured = {"test_return": returns, "friction": np.ones(self.runs) if factors is None else factors}
        for network in self.learning.networks.values():
            measured |= network.of_intervention()
        return measured

    def end(self, task: SegmentedTask) -> None:
        """Interventions and optimizers end the task."""
        self.learning.end_task(task.position)

    def state(self) -> State:
        """What learns, how far the memory is filled, which runs are unstable, where the environments stand."""
        there = {} if self.environments is None else self.environments.state()
        return {
            **self.learning.state(),
            **self.memory.state(),
            "unstable": torch.tensor(self.unstable),
            "environments": {name: torch.tensor(value) for name, value in there.items()},
        }

    def bulk(self) -> Bulk:
        """The replay memory: an entry is a step of all environments."""
        return self.memory.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state; the environments follow in `begin`. Without its memory, that is empty (see `Ring`)."""
        self.learning.load(state)
        self.memory.load(state, bulk)
        self.timetable = replace(self.timetable, min_history=self.memory.warm_up(self.agent.min_history))
        self.unstable = state["unstable"].numpy().copy()
        self._saved = dict(state["environments"])

    def weights(self) -> dict[str, Tensor]:
        """The parameters of all networks on the host, name → (K, ...), and log α."""
        return self.learning.weights()

    def view(self, task: SegmentedTask) -> View:
        """A critic, on a probe that is drawn from the memory. None in the warm-up."""
        return self.learning.view(self.memory if self.timetable.learns(self.memory.steps) else None)

    def _middle(self, observations: Array) -> Array:
        """The likeliest number before squashing, squashed: (K, E, ...) → (K, E, A), on the host."""
        shown = np.nan_to_num(observations.reshape(*observations.shape[:2], -1), posinf=0, neginf=0)
        answered = self.learning.networks[self.learning.acting].answers(shown, self.body.name)["mean"]
        return on_host(np.nan_to_num(answered, posinf=0, neginf=0), self.bounds)
