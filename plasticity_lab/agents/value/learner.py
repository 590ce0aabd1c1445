"""What a value agent does with a pack: act, remember, and learn from what is remembered, step by step.

Legend: K runs, N environments of each, U updates of a chunk, Q numbers that the loss measures of each of B rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import episodes_of
from plasticity_lab.agents.acting.evaluation import episode_returns, mean_return
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.acting.schedule import Exploration
from plasticity_lab.agents.acting.snapshot import Snapshot
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.value.acting import Actor, Draws, epsilon_greedy
from plasticity_lab.agents.value.loss import MEASURED, loss_of
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.agents.value.step import READS, TARGET_NOISE, step_of, targets_of
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import Segment, SegmentedTask, SegmentedTasks
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Ended, Environments
from plasticity_lab.networks.model import Model
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Evaluation, Rows

Array = NDArray[Any]


class ValueLearner:
    """K runs of a value agent, each in environments of its own, with a memory of its own.

    A run of which an observation, a reward or a loss is not finite is unstable: it goes back to the numbers that it
    began the chunk with, keeps stepping with them, and learns no more. Its mates do not notice.

    A memory that is lost begins empty: nothing is learned until it holds `min_history` steps again.
    """

    facts: Mapping[str, float] = {}

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
        self.agent, self.parts, self.device, self.compiled = agent, parts, device, compiled
        self.bodies = resource.by_name
        self.body = body = next(iter(self.bodies.values()))
        self.network, self.size, self.runs = PackedNetwork(parts, model, device), model.size, len(parts.init_seeds)
        self.target = self.network.target()
        on_host = {
            name: value.cpu().numpy().astype(np.float64) for name, value in self.network.settings["agent"].items()
        }
        self.timetable = agent.timetable
        self.exploration = Exploration(
            on_host["epsilon_start"], on_host["epsilon_final"], agent.min_history, agent.epsilon_decay
        )
        self.epsilon_eval = on_host["epsilon_eval"]
        # More rows than a run has steps would never be written.
        self.memory = Memory(agent, body, parts.init_seeds, min(agent.capacity, tasks.total_steps), on_host["gamma"])
        updates = -(-tasks.most // agent.update_period)
        self.measured = torch.zeros(updates, len(MEASURED), self.runs, self.memory.padded, device=device)
        self.at = [torch.tensor([row], device=device) for row in range(updates)]
        self.keys = {**self.network.step_keys, TARGET_NOISE: self.network.keys_of(TARGET_NOISE)}
        self.network.body = body.name
        self.action_values = agent.action_values(body.actions)
        self.acting = ActingNetwork(
            self.network, body.name, body.observation, agent.environments, dtype=body.dtype, randomised=False,
            noisy=agent.noisy, compiled=compiled, structure=parts.structure, kernels=parts.kernels,
            read=self.action_values.read,
        )  # fmt: skip
        step = step_of(self.network, body.name, self.action_values, agent.double, parts.kernels)
        same = "value step", parts.structure, model.structure_key, body.name
        self.step = Compiled(step, same, reads=READS) if compiled else step
        self.unstable = np.zeros(self.runs, np.bool_)
        self.environments: Environments | None = None
        self._saved: Mapping[str, Any] = {}
        self._before = Snapshot(self.network.train_state)

    def begin(self, task: SegmentedTask, fresh: bool) -> None:
        """New environments, or those of a resumed run where it left them. ε goes on, and so does the memory, unless
        each task finds it empty.
        """
        agent, seeds, body = self.agent, self.parts.stream_seeds, self.bodies[task.body]
        if fresh:
            self.network.begin_task(task.position)
            if self.network.intervention.restarts_agent:
                self.target.copy()
            if agent.empty_each_task:
                self.memory.clear()
        processes = self.parts.processes.of(body, len(seeds) * agent.environments)
        self.environments = Environments(body, seeds, agent.environments, task.position, processes=processes)
        self.actor = Actor(
            self.environments, self.acting, self.memory, self.parts.init_seeds, self.exploration, agent.clip_rewards
        )
        if not fresh:
            self.environments.load({name: value.numpy() for name, value in self._saved.items()})

    def advance(self, chunk: Segment) -> Rows:
        """Acts for the chunk's steps, and learns and copies the target as often as is due meanwhile."""
        environments, network = self.agent.environments, self.network
        before, target_before = self._before, dict[str, Tensor]()
        before.take(network.train_state)
        corrections = network.corrections(len(self.at))
        rows = {**corrections, "updates": torch.arange(len(self.at), device=self.device) + network.updates}
        ended, epsilons = list[tuple[Ended, int]](), list[Array]()
        for step in range(chunk.first, chunk.first + chunk.steps, environments):
            then = step + environments
            outcome = self.actor.step(step)
            if len(outcome.ended.run):
                ended.append((outcome.ended, then))
            for _ in range(self.timetable.updates(step, then, self.memory.steps)):
                self._update(rows, len(epsilons))
                epsilons.append(self.exploration.epsilon(step))
            if self.timetable.copies(step, then):
                target_before = target_before or {name: x.clone() for name, x in self.target.parameters.items()}
                self.target.copy()
        taken = len(epsilons)
        losses = self.measured[:taken].isfinite().all(dim=3).all(dim=1).all(dim=0).cpu().numpy()
        self.unstable |= ~(self.actor.finite & losses & before.finite(network.train_state))
        if self.unstable.any():
            before.restore(network.train_state, self.unstable)
            for name, x in target_before.items():
                for run in np.flatnonzero(self.unstable):
                    self.target.parameters[name][run].copy_(x[run])
        return Rows(self._rows(taken, epsilons), episodes_of(ended))

    def evaluate(self, task: SegmentedTask) -> Evaluation:
        """How much it earns in the benchmark's test (see `returns_in_test`), and the intervention's own."""
        seeds, body = self.parts.stream_seeds, self.bodies[task.body]
        episodes = self.parts.benchmark.test_frictions(body)
        returns = np.full(self.runs, np.nan)
        if episodes is not None:
            processes = self.parts.processes.of(body, len(seeds) * len(episodes))
            returns = mean_return(
                returns_in_test(
                    self._values, body, seeds, self.parts.init_seeds, len(episodes), self.epsilon_eval, task.position,
                    processes,
                )
            )  # fmt: skip
        return {"test_return": returns} | self.network.of_intervention()

    def end(self, task: SegmentedTask) -> None:
        """Intervention and optimizer end the task."""
        self.network.end_task(task.position)

    def state(self) -> State:
        """The network's and its target's, how far the memory is filled, which runs are unstable, where the environments
        stand.
        """
        there = {} if self.environments is None else self.environments.state()
        return {
            "network": self.network.state(),
            "target": self.target.state(),
            **self.memory.state(),
            "unstable": torch.tensor(self.unstable),
            "environments": {name: torch.tensor(value) for name, value in there.items()},
        }

    def bulk(self) -> Bulk:
        """The replay memory: an entry is a step of all environments."""
        return self.memory.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state; the environments follow in `begin`. Without its memory, that is empty (see `Ring`)."""
        self.network.load(state["network"])
        self.target.load(state["target"])
        self.memory.load(state, bulk)
        self.timetable = replace(self.timetable, min_history=self.memory.warm_up(self.agent.min_history))
        self.unstable = state["unstable"].numpy().copy()
        self._saved = dict(state["environments"])

    def weights(self) -> dict[str, Tensor]:
        """The online network's parameters on the host, name → (K, ...)."""
        return self.network.weights()

    def view(self, task: SegmentedTask) -> View:
        """The network; its probe is drawn from the memory as it is now, as the loss takes it. None in the warm-up."""
        model, probe, body = self.network.model, dict[str, Tensor](), self.body.name
        learns = self.timetable.learns(self.memory.steps)
        if learns and (batch := self.memory.probe(self.network.updates, self.device)):
            targets = targets_of(model, body, self.action_values, self.agent.double)
            with torch.no_grad():
                target = targets(self.network.parameters, self.target.parameters, self.network.settings, batch, None)
            probe = {name: batch[name] for name in ("action", "weight")}
            probe |= {"x": as_floats(batch["x"]), "target": target}
        return self.network.view(loss_of(model, body, self.action_values), probe)

    def _update(self, rows: Mapping[str, Tensor], number: int) -> None:
        """One update of all runs, the number-th of this chunk."""
        network = self.network
        index = self.memory.drawn(network.updates)
        batch = self.memory.batch(index, self.device)
        network.kept = self.step(
            network.train_state, self.target.parameters, network.settings, self.keys, batch, rows, self.measured,
            self.at[number],
        )  # fmt: skip
        self.memory.learned(index, self.measured[number, MEASURED.index("loss")])
        network.took(1)

    def _values(self, observations: Array) -> Array:
        """Of all actions in evaluation mode: (K, E, ...) → (K, E, A), on the host."""
        outputs = self.network.answers(observations, self.body.name)
        there = {name: torch.from_numpy(value).to(self.device) for name, value in outputs.items()}
        return self.action_values.of_all(there, self.network.settings["agent"]).cpu().numpy()

    def _rows(self, taken: int, epsilons: list[Array]) -> dict[str, Array]:
        """Means over the examples of each update, name → (U, K); no rows where nothing was learned."""
        measured = self.measured[:taken, ..., : self.memory.size].cpu().numpy().astype(np.float64)
        means = np.add.accumulate(measured, axis=-1)[..., -1] / self.memory.size
        means[:, :, self.unstable] = np.nan  # what was learned is not kept
        alike = (taken, self.runs)
        return {name: means[:, at] for at, name in enumerate(MEASURED)} | {
            "epsilon": np.reshape(epsilons, alike),
            "unstable": np.broadcast_to(self.unstable.astype(np.float64), alike),
        }


# How much a pack earns in test episodes: ε-greedily with an ε of its own, nothing learned, nothing remembered.
#
# Legend: K runs, E episodes of the test, each in an environment of its own.


def returns_in_test(
    values: Callable[[NDArray[Any]], NDArray[Any]],
    body: Body,
    stream_seeds: Sequence[int],
    init_seeds: Sequence[int],
    episodes: int,
    epsilon: NDArray[np.float64],
    task: int,
    processes: int = 1,
) -> NDArray[np.float64]:
    """The return of each episode, (K, E); see `episode_returns`.

    values: of all actions in evaluation mode, observations (K, E, ...) → (K, E, A). stream_seeds: say where episodes
    begin; init_seeds: which actions are random. epsilon: (K,). task: after which the test is; each has random actions
    of its own. processes: that step the episodes.
    """
    draws, steps = Draws(init_seeds, episodes, body.actions, "acting in the test", task), count()

    def act(observations: NDArray[Any]) -> NDArray[np.int64]:
        shown = observations if observations.dtype == np.uint8 else np.nan_to_num(observations, posinf=0, neginf=0)
        return epsilon_greedy(values(shown), epsilon, *draws.at(next(steps)))

    return episode_returns(body, stream_seeds, episodes, act, processes=processes)
