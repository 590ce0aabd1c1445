"""A pack of a value agent: it acts, remembers, and learns from the memory, step by step.

Legend: K runs, N environments of each, U updates of a chunk, E episodes of a test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import Act, finite_or_zero
from plasticity_lab.agents.acting.learner import LearnerWithMemory
from plasticity_lab.agents.acting.measured import Measured
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.acting.schedule import Exploration
from plasticity_lab.agents.acting.snapshot import Snapshot
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Call, Compiled
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.update import SECOND, takes_second
from plasticity_lab.agents.value.acting import Actor, epsilon_greedy, exploring
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.agents.value.step import MEASURED, READS, TARGET, TARGET_NOISE, loss_of, step_of, targets_of
from plasticity_lab.agents.value.targets.auto import targets_of_runs
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Segment, SegmentedTasks, Stage
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.environments import Environments
from plasticity_lab.kernels import replay as kernel
from plasticity_lab.networks.model import Model
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Rows
from plasticity_lab.stacking.run_axis import on_run_axis

Array = NDArray[Any]


class ValueLearner(LearnerWithMemory):
    """K runs of a value agent: a network, its target, and a memory."""

    agent: ValueSettings

    def __init__(
        self,
        agent: ValueSettings,
        parts: Parts[BodyBenchmark],
        model: Model,
        resource: Bodies,
        tasks: SegmentedTasks,
        device: torch.device,
        compiled: bool,
    ) -> None:
        super().__init__(agent.environments, parts, resource)
        self.agent, self.timetable, self.device = agent, agent.timetable, device
        self.body = body = next(iter(self.bodies.values()))
        self.network, self.size = PackedNetwork(parts, model, device), model.size
        self.networks, self.target = [self.network], self.network.target()
        settings = self.network.settings_on_host("agent")
        self.exploration = Exploration(
            settings["epsilon_start"], settings["epsilon_final"], agent.min_history, agent.epsilon_decay
        )
        self.epsilon_eval = settings["epsilon_eval"]
        if compiled:
            kernel.expect()
        # More rows than a run has steps would never be written.
        capacity, seeds = min(agent.capacity, tasks.total_steps), parts.init_seeds
        # The processes of environments wait while a batch is made.
        how = parts.compressed, parts.processes.most, parts.sharing
        self.memory = Memory(agent, [body], seeds, capacity, settings["gamma"], *how)
        self.measured = Measured(MEASURED, self.timetable.most_updates(tasks.most), self.runs, agent.batch, device)
        self.keys = {**self.network.step_keys, TARGET_NOISE: self.network.keys_of(TARGET_NOISE)}
        self.network.body = body.name
        self.action_values = agent.action_values(body.actions)
        self.acting = ActingNetwork(
            self.network, body.name, body.observation, agent.environments, dtype=body.dtype, randomised=False,
            noisy=agent.noisy, compiled=compiled, structure=parts.structure, kernels=parts.kernels,
            read=self.action_values.read,
        )  # fmt: skip
        targets = targets_of_runs(parts, agent)
        self.network.settings[TARGET], self.of_target = on_run_axis(targets, device), targets[0]
        step = step_of(self.network, body.name, self.action_values, self.of_target, parts.kernels)
        same = "value step", parts.structure, model.structure_key, body.name
        self.step = Compiled(step, same, reads=READS) if compiled else step
        self.epsilons = list[Array]()
        self._before = Snapshot(self.network.train_state)
        self._target_before = dict[str, Tensor]()
        self._rows: Mapping[str, Tensor] = {}

    def actor_in(self, environments: Environments) -> Actor:
        """An ε-greedy actor."""
        agent, seeds = self.agent, self.parts.init_seeds
        return Actor(environments, self.acting, self.memory, seeds, self.exploration, agent.clip_rewards)

    def begin_task(self, position: int) -> None:
        """The work of intervention and optimizer; a fresh network has a fresh target."""
        self.network.begin_task(position)
        if self.network.intervention.restarts_agent:
            self.target.copy()

    def begin_chunk(self) -> None:
        """Keeps the network's numbers; the target's are kept when they first change."""
        network, updates = self.network, len(self.measured.at)
        self._before.take(network.train_state)
        self._target_before = {}
        numbers = torch.arange(updates, device=self.device) + network.updates
        self._rows = {**network.corrections(updates), "updates": numbers}
        self.epsilons = []

    def update(self, step: int) -> None:
        """One update of all runs."""
        network, number = self.network, len(self.epsilons)
        index = self.memory.drawn(network.updates)
        batch = self.memory.batch(index, self.device)
        if takes_second(network.intervention):
            batch[SECOND] = self.memory.second(network.updates, self.device)
        network.kept = self.step(*self._given(batch, number))
        self.memory.learned(index, self.measured.tensor[number, MEASURED.index("loss")])
        network.took(1)
        self.epsilons.append(self.exploration.epsilon(step))

    def calls(self) -> Sequence[Call]:
        """Acting and the update."""

        def arguments() -> Sequence[Any]:
            batch = self.memory.example(self.device)
            if takes_second(self.network.intervention):
                batch[SECOND] = batch["x"].clone()
            return self._given(batch, 0)

        return self.acting.call, (self.step, arguments)

    def _given(self, batch: Mapping[str, Tensor], number: int) -> Sequence[Any]:
        """The arguments of an update.  number: its number in the chunk."""
        network, measured = self.network, self.measured
        return (
            network.train_state, self.target.parameters, network.settings, self.keys, batch, self._rows,
            measured.tensor, measured.at[number],
        )  # fmt: skip

    def copy_target(self) -> None:
        """Copies the network into its target."""
        if not self._target_before:
            self._target_before = {name: value.clone() for name, value in self.target.parameters.items()}
        self.target.copy()

    def finite(self) -> NDArray[np.bool_]:
        """Whether the losses and the numbers of the network are finite, (K,)."""
        return self.measured.finite(len(self.epsilons)) & self._before.finite(self.network.train_state)

    def restore(self, runs: NDArray[np.bool_]) -> None:
        """Gives these runs (K,) the numbers of network and target from the beginning of the chunk."""
        self._before.restore(self.network.train_state, runs)
        for name, value in self._target_before.items():
            for run in np.flatnonzero(runs):
                self.target.parameters[name][run].copy_(value[run])

    def means(self) -> dict[str, NDArray[np.float64]]:
        """The loss and the value of the actions taken."""
        return self.measured.means(len(self.epsilons))

    def advance(self, chunk: Segment) -> Rows:
        """The measurements of each update include ε."""
        rows = super().advance(chunk)
        epsilon = np.reshape(self.epsilons, (len(self.epsilons), self.runs))
        return replace(rows, updates={**rows.updates, "epsilon": epsilon})

    def test_policy(self, task: Stage, episodes: int) -> Act:
        """ε-greedy with the test's ε, by values in evaluation mode; each task's test has separate random actions."""
        actions = self.bodies[task.body].actions
        draws = exploring(self.parts.init_seeds, episodes, actions, "acting in the test", task.position)
        steps = count()

        def act(observations: Array) -> NDArray[np.int64]:
            q = self._values(finite_or_zero(observations))
            return epsilon_greedy(q, self.epsilon_eval, *draws.at(next(steps)))

        return act

    def state(self) -> State:
        """The network and its target too."""
        return super().state() | {"network": self.network.state(), "target": self.target.state()}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state. Without its bulk the memory is empty (see `Ring`)."""
        super().load(state, bulk)
        self.network.load(state["network"])
        self.target.load(state["target"])

    def weights(self) -> dict[str, Tensor]:
        """The online network's parameters on the host, name → (K, ...)."""
        return self.network.weights()

    def view(self, task: Stage) -> View:
        """The network. Its probe is a batch of the memory with its targets; before the first update it is empty."""
        model, probe, body = self.network.model, dict[str, Tensor](), self.body.name
        learns = self.timetable.learns(self.memory.steps)
        if learns and (batch := self.memory.probe(self.network.updates, self.device)):
            targets = targets_of(model, body, self.action_values, self.of_target)
            with torch.no_grad():
                target = targets(self.network.parameters, self.target.parameters, self.network.settings, batch, None)
            probe = {name: batch[name] for name in ("action", "weight")}
            probe |= {"x": as_floats(batch["x"]), "target": target}
        return self.network.view(loss_of(model, body, self.action_values), probe)

    def _values(self, observations: Array) -> Array:
        """The values of all actions in evaluation mode: (K, E, ...) → (K, E, A), on the host."""
        outputs = self.network.answers(observations, self.body.name)
        on_device = {name: torch.from_numpy(value).to(self.device) for name, value in outputs.items()}
        return self.action_values.of_all(on_device, self.network.settings["agent"]).cpu().numpy()
