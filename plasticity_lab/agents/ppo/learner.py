"""A pack of PPO: it acts for a rollout, then learns from it.

Legend: K runs, N environments of each, T steps of a rollout, U updates by it, M minibatches of a pass, B rows of a
minibatch, Q numbers that the loss measures of each row.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import Act
from plasticity_lab.agents.acting.learner import ActingLearner, tensors_of
from plasticity_lab.agents.acting.measured import Measured
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.acting.snapshot import Snapshot
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Call, Compiled
from plasticity_lab.agents.evenly_spread import evenly_spread
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.ppo.minibatches import Minibatches, probe_in
from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.agents.ppo.policy import copied, log_probability
from plasticity_lab.agents.ppo.rollout import Actor, likeliest
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.agents.ppo.step import MEASURED, READS, Step, loss_of, step_of
from plasticity_lab.agents.update import takes_second
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Segment, Stage
from plasticity_lab.diagnostics.view import View
from plasticity_lab.interventions.intervention import EXAMPLES
from plasticity_lab.networks.model import Model
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Rows

Array = NDArray[Any]


class PPOLearner(ActingLearner):
    """K runs of PPO; a chunk is a rollout."""

    def __init__(
        self,
        agent: PPOSettings,
        parts: Parts[BodyBenchmark],
        model: Model,
        resource: Bodies,
        steps: int,
        device: torch.device,
        compiled: bool,
    ) -> None:
        super().__init__(agent.environments, parts, resource)
        self.agent, self.device, self.compiled = agent, device, compiled
        self.network, self.size, self.total_steps = PackedNetwork(parts, model, device), model.size, steps
        self.networks = [self.network]
        self.minibatches = Minibatches(agent.steps, agent.minibatches, agent.epochs, agent.advantages)
        self.on_host = self.network.settings_on_host("agent")
        self.rates = self.network.settings["optimizer"]["lr"].clone()
        self.keys = self.network.step_keys
        updates, examples = self.minibatches.updates, self.minibatches.size
        self.measured = Measured(MEASURED, updates, self.runs, examples, device)
        self.normalisers = {name: self._normaliser(name) for name in self.bodies}
        self._acting: dict[str, ActingNetwork] = {}
        self._steps: dict[str, Step] = {}  # by body: a compiled step is a graph of one body's shapes
        # The last rollout, "x" (K, R, D) and "action" (K, R, ...), if the intervention needs examples.
        self._rollout: dict[str, Tensor] = {}
        self._probe: dict[str, Tensor] = {}  # rows of the last rollout, for diagnostics

    def begin(self, task: Stage, fresh: bool) -> None:
        """New environments for the task's body, or the checkpoint's in a resumed run."""
        self.network.body = task.body
        each = self.minibatches.updates
        self.network.expect(*(steps // self.agent.steps * each for steps in (task.steps, self.total_steps)))
        if fresh:
            self.network.begin_task(task.position)
            if self.network.intervention.restarts_agent:
                self.normalisers[task.body] = self._normaliser(task.body)
        environments = self.new_environments(task, fresh)
        if task.body not in self._acting:
            self._build(task.body, environments.observations.dtype)
        self.actor = Actor(
            environments,
            self._acting[task.body],
            self.agent,
            self.parts.init_seeds,
            self.on_host["gamma"],
            self.normalisers[task.body],
        )
        if fresh:
            self.actor.begin()

    def _build(self, body: str, dtype: np.dtype[Any]) -> None:
        """Builds the acting network and the training step for a body. dtype: dtype of its observations."""
        agent, structure, kernels = self.agent, self.parts.structure, self.parts.kernels
        self._acting[body] = ActingNetwork(
            self.network,
            body,
            (int(np.prod(self.bodies[body].observation)),),
            agent.environments,
            dtype=np.float32 if agent.normalise_observations else dtype,
            randomised=agent.rollout_mode == "train",
            compiled=self.compiled,
            structure=structure,
            kernels=kernels,
            read=copied,
        )
        step = step_of(self.network, body, agent.clip_value, agent.max_norm, kernels, self.minibatches.updates)
        same = ("ppo step", structure, self.network.model.structure_key, body)
        self._steps[body] = Compiled(step, same, reads=READS) if self.compiled else step

    def advance(self, chunk: Segment) -> Rows:
        """Acts for a rollout, then learns from it."""
        before = Snapshot(self.network.train_state)
        if self.agent.anneal_lr:
            self.network.settings["optimizer"]["lr"] = self.rates * (1 - chunk.first / self.total_steps)
        self.compile()
        seen = self.actor.rollout(chunk.first)
        if EXAMPLES in self.network.intervention.requires:
            kept = {"x": seen.x, "action": seen.action}
            self._rollout = {name: torch.tensor(value).flatten(1, 2) for name, value in kept.items()}
        self.unstable |= ~seen.finite
        second, seeds = takes_second(self.network.intervention), self.parts.init_seeds
        common, each = self.minibatches.tables(seen, self.on_host, seeds, chunk.first, second)
        if self.parts.observed:
            self._probe = probe_in(common, each, self.minibatches)
        self._learn(common, each)
        finite = self.measured.finite(self.minibatches.updates)
        self.unstable |= ~(finite & before.finite(self.network.train_state))
        before.restore(self.network.train_state, self.unstable)
        return Rows(self._rows(), seen.episodes)

    def test_policy(self, task: Stage, episodes: int) -> Act:
        """The most likely actions, with the statistics of training, which stay unchanged."""
        normaliser = self.normalisers[task.body] if self.agent.normalise_observations else None
        body, clips = self.bodies[task.body], self.agent.clip_action
        return lambda observations: likeliest(self.network, body, observations, normaliser, clips)

    def end(self, task: Stage) -> None:
        """Intervention and optimizer end the task; its examples are rows of the last rollout."""
        self.network.end_task(task.position, self._seen, log_probability)

    def state(self) -> State:
        """The network, the statistics of each body, and the parts of the last rollout that intervention and diagnostics
        need.
        """
        return super().state() | {
            "network": self.network.state(),
            "normalisers": {body: tensors_of(each.state()) for body, each in self.normalisers.items()},
            "rollout": dict(self._rollout),
            "probe": dict(self._probe),
        }

    def bulk(self) -> Bulk:
        """Empty: a rollout is learned from before anything is saved."""
        return {}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state; the environments follow in `begin`."""
        super().load(state, bulk)
        self.network.load(state["network"])
        for body, normaliser in self.normalisers.items():
            normaliser.load({name: value.numpy() for name, value in state["normalisers"][body].items()})
        self._rollout = {name: value.clone() for name, value in state.get("rollout", {}).items()}  # absent if old
        self._probe = {name: value.clone() for name, value in state.get("probe", {}).items()}

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        return self.network.weights()

    def view(self, task: Stage) -> View:
        """The view of the network. Its probe is rows of the last rollout, since a policy's observations change with
        it.
        """
        loss = loss_of(self.network.model, task.body, self.agent.clip_value)
        return self.network.view(loss, {name: value.to(self.device) for name, value in self._probe.items()})

    def _seen(self, most: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Observations (K, E, D) as floats, and the actions that the network took then, (K, E, ...)."""
        x, action = (self._rollout[name].to(self.device) for name in ("x", "action"))
        at = evenly_spread(x.shape[1], most, self.device)
        yield as_floats(x[:, at]), action[:, at]

    def _normaliser(self, body: str) -> Normaliser:
        """New statistics without any values."""
        numbers = int(np.prod(self.bodies[body].observation))
        return Normaliser(self.runs, self.agent.environments, (numbers,))

    def _learn(self, common: Mapping[str, Tensor], each: Mapping[str, Tensor]) -> None:
        """All updates by a rollout. Afterwards `measured` holds the measurements of the loss, (U, Q, K, B).

        If a run has changed its policy by more than `target_kl` after a pass, its numbers from that time are restored
        at the end. Later updates are still computed for the whole pack, but have no effect on this run.
        """
        network, updates = self.network, self.minibatches.updates
        common, rows = self._inputs(common, each)
        step, taken, in_a_pass = self._steps[network.body], 0, self.minibatches.count
        stopped, snapshots = np.zeros(self.runs, bool), list[tuple[Snapshot, Array, int]]()
        while taken < updates:
            part = network.due(in_a_pass - taken % in_a_pass)
            train_state = network.train_state
            for at in self.measured.at[taken : taken + part]:
                state = step(train_state, network.settings, self.keys, common, rows, self.measured.tensor, at)
                train_state = train_state._replace(state=state)
            network.kept = train_state.state
            network.took(part)
            taken += part
            if self.agent.target_kl is not None and taken % in_a_pass == 0:
                (changed,) = self.measured.means(taken, first=taken - 1)["approx_kl"]
                newly = ~stopped & (changed > self.agent.target_kl)
                if newly.any():
                    snapshots.append((Snapshot(network.train_state), newly, network.updates))
                    stopped |= newly
        for snapshot, runs, updates in snapshots:
            snapshot.restore(network.train_state, runs)
            network.restored(runs, updates)

    def _inputs(
        self, common: Mapping[str, Tensor], each: Mapping[str, Tensor]
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The inputs of all updates by a rollout, on the device: common ones, and those with a row for each update."""
        network, updates = self.network, self.minibatches.updates
        rows = {name: value.to(self.device) for name, value in each.items()} | network.corrections(updates)
        rows["updates"] = torch.arange(network.updates, network.updates + updates, device=self.device)
        return {name: value.to(self.device) for name, value in common.items()}, rows

    def calls(self) -> Sequence[Call]:
        """Acting and the updates."""
        network, acting, body = self.network, self._acting[self.actor.body.name], self.actor.body

        def arguments() -> Sequence[Any]:
            action = torch.tensor(0) if body.discrete else torch.zeros(body.actions)
            second = takes_second(network.intervention)
            inputs = self._inputs(*self.minibatches.example(self.runs, acting.observation, action, second))
            return network.train_state, network.settings, self.keys, *inputs, self.measured.tensor, self.measured.at[0]

        return acting.call, (self._steps[body.name], arguments)

    def _rows(self) -> dict[str, Array]:
        """Means over the examples of each update, name → (U, K)."""
        rows = self.measured.means(self.minibatches.updates)
        passes = rows["approx_kl"][: self.minibatches.count]
        first = np.add.accumulate(passes, axis=0)[-1] / len(passes)
        return self.with_unstable(rows | {"first_kl": np.broadcast_to(first, rows["approx_kl"].shape)})
