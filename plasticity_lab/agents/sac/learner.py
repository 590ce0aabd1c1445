"""A pack of SAC: it acts, remembers, and learns from the memory, step by step.

Legend: K runs, N environments of each, A numbers of an action, E episodes of a test.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import Act, finite_or_zero
from plasticity_lab.agents.acting.learner import LearnerWithMemory
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork, Read
from plasticity_lab.agents.acting.remembering import BLOCK, Draws, Remembering
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Call
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac.bodies import serving
from plasticity_lab.agents.sac.learning import Learning
from plasticity_lab.agents.sac.policy import bounds_of, on_host
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import SegmentedTasks, Stage
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments, Outcome
from plasticity_lab.kernels import replay as kernel
from plasticity_lab.records.bulk import Bulk

Array = NDArray[Any]


class SACLearner(LearnerWithMemory):
    """K runs of SAC with a memory.

    learning: the networks and their updates.
    read: from the actor's outputs to mean and deviation.
    """

    agent: SACSettings

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
        super().__init__(agent.environments, parts, resource)
        self.agent, self.timetable, self.learning, self.read = agent, agent.timetable, learning, read
        self.compiled = compiled
        self.networks = list(learning.networks.values())
        self.size = sum(network.model.size for network in self.networks)
        settings = learning.networks[learning.acting].settings_on_host("agent")
        self.reward_scale = settings["reward_scale"]
        # More rows than a run has steps would never be written.
        capacity = min(agent.capacity, tasks.total_steps)
        bodies = learning.bodies
        if compiled:
            kernel.expect()
        seeds, gamma, how = parts.init_seeds, settings["gamma"], (parts.compressed, parts.processes.most, parts.sharing)
        self.memory = Memory(agent, list(bodies.values()), seeds, capacity, gamma, *how)
        self.bounds = {name: bounds_of(body, torch.device("cpu")) for name, body in bodies.items()}
        self._acting: dict[str, ActingNetwork] = {}  # by body

    @property
    def emptied(self) -> bool:
        """Whether each task begins with an empty memory; always if it holds steps of one kind of bodies at a time."""
        return super().emptied or len(self.learning.bodies) > 1

    def begin(self, task: Stage, fresh: bool) -> None:
        """The task's body becomes the active one; the rest as in the base class."""
        name = serving(self.learning.bodies, task.body)
        self.learning.turn_to(name)
        self.memory.body = self.learning.body
        if name not in self._acting:
            self._acting[name] = self._built(self.learning.body)
        self.acting = self._acting[name]
        super().begin(task, fresh)

    def _built(self, body: Body) -> ActingNetwork:
        """The network that acts with a body."""
        name, parts = self.learning.acting, self.parts
        return ActingNetwork(
            self.learning.networks[name], body.name, (int(np.prod(body.observation)),), self.agent.environments,
            dtype=body.dtype, randomised=False, compiled=self.compiled, structure=parts.structure,
            kernels=parts.kernels, name=name, read=self.read,
        )  # fmt: skip

    @property
    def network(self) -> PackedNetwork:
        """The first critic, or the shared network."""
        return self.learning.networks[self.learning.critic]

    def inputs_in(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Observations; a separate critic's inputs also have the actions."""
        x = as_floats(batch["x"])
        shared = self.learning.critic == self.learning.acting
        return x if shared else torch.cat([x, batch["action"]], dim=2)

    def actor_in(self, environments: Environments) -> "Actor":
        """An actor that follows the policy after the warm-up."""
        seeds, warm_up = self.parts.init_seeds, self.agent.min_history
        bounds = self.bounds[self.learning.body.name]
        return Actor(environments, self.acting, self.memory, bounds, seeds, warm_up, self.reward_scale)

    def begin_task(self, position: int) -> None:
        """Work of interventions and optimizers before a task."""
        self.learning.begin_task(position)

    def begin_chunk(self) -> None:
        """Stores the numbers of networks, targets and temperature."""
        self.learning.begin_chunk()

    def update(self, step: int) -> None:
        """One update of the critics, and of the actor if it is due."""
        self.learning.update(self.memory)

    def calls(self) -> Sequence[Call]:
        """Acting and the updates."""
        return self.acting.call, *self.learning.calls(self.memory)

    def finite(self) -> NDArray[np.bool_]:
        """Whether losses and numbers are finite, (K,)."""
        return self.learning.finite()

    def restore(self, runs: NDArray[np.bool_]) -> None:
        """Resets these runs (K,) to their numbers from the beginning of the chunk."""
        self.learning.restore(runs)

    def means(self) -> dict[str, NDArray[np.float64]]:
        """Losses, values, entropy and temperature of the chunk's updates."""
        return self.learning.means()

    def test_policy(self, task: Stage, episodes: int) -> Act:
        """The middle of the policy: the squashed mean."""
        body = serving(self.learning.bodies, task.body)

        def act(observations: Array) -> Array:
            shown = finite_or_zero(observations.reshape(*observations.shape[:2], -1))
            answered = self.learning.networks[self.learning.acting].answers(shown, body)["mean"]
            return on_host(finite_or_zero(answered), self.bounds[body])

        return act

    def state(self) -> State:
        """The state of the base class, with networks, targets and temperature."""
        return super().state() | self.learning.state()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state. Without its bulk the memory is empty (see `Ring`)."""
        super().load(state, bulk)
        self.learning.load(state)

    def weights(self) -> dict[str, Tensor]:
        """The parameters of all networks on the host, name → (K, ...), and log α."""
        return self.learning.weights()

    def view(self, task: Stage) -> View:
        """A critic with a probe from the memory; the probe is empty during the warm-up."""
        return self.learning.view(self.memory if self.timetable.learns(self.memory.steps) else None)


class Actor(Remembering):
    """A pack of runs that act in environments of one body and remember each step.

    bounds: the result of `bounds_of`, on the host.
    warm_up: number of first steps, all environments of a run together, with actions drawn uniformly within the body's
        bounds.
    reward_scale: (K,), multiplies the rewards that are remembered.
    """

    def __init__(
        self,
        environments: Environments,
        network: ActingNetwork,
        memory: Memory,
        bounds: Mapping[str, Tensor],
        seeds: Sequence[int],
        warm_up: int,
        reward_scale: NDArray[np.float64],
    ) -> None:
        super().__init__(environments, memory)
        self.network, self.bounds, self.warm_up, self.reward_scale = network, bounds, warm_up, reward_scale
        self.low, self.high = (np.array(bound, np.float32) for bound in self.body.bounds)
        self.draws = draws(seeds, self.count, self.body.actions)

    def step(self, before: int) -> Outcome:
        """Acts once in every environment."""
        observations = self.sane(self.environments.observations)
        normal, uniform = self.draws.at(before // self.count)
        if before < self.warm_up:
            action = self.low + (self.high - self.low) * uniform
        else:
            answered = self.network(observations.reshape(*observations.shape[:2], -1), before)
            action = on_host(self.sane(answered["mean"] + answered["deviation"] * normal), self.bounds)
        return self.take(observations, action, lambda rewards: rewards * self.reward_scale[:, None])


def draws(seeds: Sequence[int], environments: int, actions: int) -> Draws:
    """Standard normal numbers and uniform numbers in [0, 1) for each step: (K, N, A) each, float32."""
    shape = (BLOCK, environments, actions)
    return Draws(
        seeds, lambda stream: (stream.standard_normal(shape, np.float32), stream.random(shape, np.float32)), "acting"
    )
