"""What PPO does with a pack: act for a rollout, then learn from it.

Legend: K runs, N environments of each, T steps of a rollout, U updates by it, M minibatches of a pass, B rows of a
minibatch, Q numbers that the loss measures of each row.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.evaluation import mean_return
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.acting.snapshot import Snapshot
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.evenly_spread import evenly_spread
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.ppo.evaluation import returns_in_test
from plasticity_lab.agents.ppo.loss import MEASURED, loss_of
from plasticity_lab.agents.ppo.minibatches import Minibatches
from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.agents.ppo.policy import log_probability
from plasticity_lab.agents.ppo.probe import probe_in
from plasticity_lab.agents.ppo.rollout import Actor
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.agents.ppo.step import READS, Step, step_of
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Rollout, Stage
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.environments import Environments
from plasticity_lab.interventions.intervention import EXAMPLES
from plasticity_lab.networks.model import Model
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Evaluation, Rows

Array = NDArray[Any]


class PPOLearner:
    """K runs of PPO, each in environments of its own.

    A run of which an observation, an action or a loss is not finite is unstable: it goes back to the numbers that it
    began the rollout with, keeps stepping with them, and learns no more. Its mates do not notice.
    """

    facts: Mapping[str, float] = {}

    def __init__(
        self,
        agent: PPOSettings,
        parts: Parts[BodyBenchmark],
        model: Model,
        bodies: Bodies,
        steps: int,
        device: torch.device,
        compiled: bool,
    ) -> None:
        self.agent, self.parts, self.bodies, self.device, self.compiled = agent, parts, bodies, device, compiled
        self.network, self.size, self.total_steps = PackedNetwork(parts, model, device), model.size, steps
        self.runs = len(parts.init_seeds)
        self.minibatches = Minibatches(agent.steps, agent.minibatches, agent.epochs, agent.advantages)
        self.on_host = {
            name: value.cpu().numpy().astype(np.float64) for name, value in self.network.settings["agent"].items()
        }
        self.rates = self.network.settings["optimizer"]["lr"].clone()
        self.keys = self.network.step_keys
        shape = (self.minibatches.updates, len(MEASURED), self.runs, self.minibatches.padded)
        self.measured = torch.zeros(shape, device=device)
        self.at = [torch.tensor([row], device=device) for row in range(self.minibatches.updates)]
        self.normalisers = {name: self._normaliser(name) for name in bodies.by_name}
        self.unstable = np.zeros(self.runs, bool)
        self._acting: dict[str, ActingNetwork] = {}
        self._steps: dict[str, Step] = {}  # for each body its own: compiled, one is a graph of one body's shapes
        self.environments: Environments | None = None
        self._saved: Mapping[str, Any] = {}
        # The last rollout, "x" (K, R, D) and "action" (K, R, ...), where the intervention looks at it.
        self._rollout: dict[str, Tensor] = {}
        self._probe: dict[str, Tensor] = {}  # of the last rollout, where diagnostics look at it

    def begin(self, task: Stage, fresh: bool) -> None:
        """New environments of the task's body, or those of a resumed run where it left them."""
        body, agent = self.bodies.by_name[task.body], self.agent
        self.network.body = task.body
        if fresh:
            self.network.begin_task(task.position)
            if self.network.intervention.restarts_agent:
                self.normalisers[task.body] = self._normaliser(task.body)
        seeds = self.parts.stream_seeds
        factors = self.parts.benchmark.friction_of(task.position, seeds)
        friction = None if factors is None else factors[:, None]
        processes = self.parts.processes.of(body, len(seeds) * agent.environments)
        self.environments = Environments(
            body, seeds, agent.environments, task.position, friction=friction, processes=processes
        )
        if task.body not in self._acting:
            numbers, randomised = int(np.prod(body.observation)), agent.rollout_mode == "train"
            structure, kernels = self.parts.structure, self.parts.kernels
            self._acting[task.body] = ActingNetwork(
                self.network,
                task.body,
                (numbers,),
                agent.environments,
                dtype=np.float32 if agent.normalise_observations else self.environments.observations.dtype,
                randomised=randomised,
                compiled=self.compiled,
                structure=structure,
                kernels=kernels,
            )
            step = step_of(self.network, task.body, agent.clip_value, agent.max_norm, kernels)
            same = ("ppo step", structure, self.network.model.structure_key, task.body)
            self._steps[task.body] = Compiled(step, same, reads=READS) if self.compiled else step
        self.actor = Actor(
            self.environments,
            self._acting[task.body],
            self.parts.init_seeds,
            agent.rollout,
            self.on_host["gamma"],
            self.normalisers[task.body],
            normalise_observations=agent.normalise_observations,
            normalise_rewards=agent.normalise_rewards,
            clip_action=agent.clip_action,
            timeout_is_terminal=agent.timeout_is_terminal,
        )
        if fresh:
            self.actor.begin()
        else:
            self.environments.load({name: value.numpy() for name, value in self._saved.items()})

    def advance(self, chunk: Rollout) -> Rows:
        """Acts for a rollout, then learns from it."""
        before = Snapshot(self.network.train_state)
        if self.agent.anneal_lr:
            self.network.settings["optimizer"]["lr"] = self.rates * (1 - chunk.first / self.total_steps)
        seen = self.actor.rollout(chunk.first)
        if EXAMPLES in self.network.intervention.requires:
            kept = {"x": seen.x, "action": seen.action}
            self._rollout = {name: torch.tensor(value).flatten(1, 2) for name, value in kept.items()}
        self.unstable |= ~seen.finite
        common, each = self.minibatches.tables(seen, self.on_host, self.parts.init_seeds, chunk.first)
        if self.parts.observed:
            self._probe = probe_in(common, each, self.minibatches)
        self._learn(common, each)
        losses = self.measured.isfinite().all(dim=3).all(dim=1).all(dim=0).cpu().numpy()
        self.unstable |= ~(losses & before.finite(self.network.train_state))
        before.restore(self.network.train_state, self.unstable)
        return Rows(self._rows(), seen.episodes)

    def evaluate(self, task: Stage) -> Evaluation:
        """How much the policy earns on the benchmark's test (see `returns_in_test`), the friction of the task, and the
        intervention's own.
        """
        body, seeds, benchmark = self.bodies.by_name[task.body], self.parts.stream_seeds, self.parts.benchmark
        factors, of_test = benchmark.friction_of(task.position, seeds), benchmark.test_frictions(body)
        returns = np.full(self.runs, np.nan)
        if of_test is not None:
            normaliser = self.normalisers[task.body] if self.agent.normalise_observations else None
            processes = self.parts.processes.of(body, len(seeds) * len(of_test))
            returns = mean_return(
                returns_in_test(self.network, body, seeds, of_test, normaliser, self.agent.clip_action, processes)
            )
        friction = np.ones(self.runs) if factors is None else factors
        return {"test_return": returns, "friction": friction} | self.network.of_intervention()

    def end(self, task: Stage) -> None:
        """Intervention and optimizer end the task; its examples are what was done in its last rollout."""
        self.network.end_task(task.position, self._seen, log_probability)

    def state(self) -> State:
        """The network's, the statistics of each body, which runs are unstable, where the environments stand, and what
        intervention and diagnostics are to see of the last rollout.
        """
        there = {} if self.environments is None else self.environments.state()
        return {
            "network": self.network.state(),
            "normalisers": {body: _tensors(each.state()) for body, each in self.normalisers.items()},
            "unstable": torch.tensor(self.unstable),
            "environments": _tensors(there),
            "rollout": dict(self._rollout),
            "probe": dict(self._probe),
        }

    def bulk(self) -> Bulk:
        """Nothing: a rollout is learned from before anything is saved."""
        return {}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state; the environments follow in `begin`."""
        self.network.load(state["network"])
        for body, normaliser in self.normalisers.items():
            normaliser.load({name: value.numpy() for name, value in state["normalisers"][body].items()})
        self.unstable = state["unstable"].numpy().copy()
        self._saved = dict(state["environments"])
        self._rollout = {name: value.clone() for name, value in state.get("rollout", {}).items()}  # later than the rest
        self._probe = {name: value.clone() for name, value in state.get("probe", {}).items()}

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        return self.network.weights()

    def view(self, task: Stage) -> View:
        """The network; its probe is rows of the last rollout, since what a policy sees changes with it."""
        loss = loss_of(self.network.model, task.body, self.agent.clip_value)
        return self.network.view(loss, {name: value.to(self.device) for name, value in self._probe.items()})

    def _seen(self, most: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Observations (K, E, D) as floats, and the actions that the network took then, (K, E, ...)."""
        x, action = (self._rollout[name].to(self.device) for name in ("x", "action"))
        at = evenly_spread(x.shape[1], most, self.device)
        yield as_floats(x[:, at]), action[:, at]

    def _normaliser(self, body: str) -> Normaliser:
        """One that has seen nothing."""
        numbers = int(np.prod(self.bodies.by_name[body].observation))
        return Normaliser(self.runs, self.agent.environments, (numbers,))

    def _learn(self, common: Mapping[str, Tensor], each: Mapping[str, Tensor]) -> None:
        """All updates by a rollout; what the loss measures is in `measured` then, (U, Q, K, B).

        A run that has changed its policy by more than `target_kl` after a pass keeps what it had then: the updates that
        follow are computed with its mates', and thrown away.
        """
        network, updates = self.network, self.minibatches.updates
        common = {name: value.to(self.device) for name, value in common.items()}
        rows = {name: value.to(self.device) for name, value in each.items()} | network.corrections(updates)
        rows["updates"] = torch.arange(network.updates, network.updates + updates, device=self.device)
        step, taken, in_a_pass = self._steps[network.body], 0, self.minibatches.count
        stopped, snapshots = np.zeros(self.runs, bool), list[tuple[Snapshot, Array]]()
        while taken < updates:
            part = network.due(in_a_pass - taken % in_a_pass)
            train_state = network.train_state
            for at in self.at[taken : taken + part]:
                state = step(train_state, network.settings, self.keys, common, rows, self.measured, at)
                train_state = train_state._replace(state=state)
            network.kept = train_state.state
            network.took(part)
            taken += part
            if self.agent.target_kl is not None and taken % in_a_pass == 0:
                changed = self._means(taken - 1)[MEASURED.index("approx_kl")]
                newly = ~stopped & (changed > self.agent.target_kl)
                if newly.any():
                    snapshots.append((Snapshot(network.train_state), newly))
                    stopped |= newly
        for snapshot, runs in snapshots:
            snapshot.restore(network.train_state, runs)

    def _means(self, update: int) -> Array:
        """Means over the examples of one update, (Q, K)."""
        real = self.measured[update, ..., : self.minibatches.size].cpu().numpy().astype(np.float64)
        return np.add.accumulate(real, axis=-1)[..., -1] / self.minibatches.size

    def _rows(self) -> dict[str, Array]:
        """Means over the examples of each update, name → (U, K)."""
        means = np.stack([self._means(update) for update in range(self.minibatches.updates)])
        means[:, :, self.unstable] = np.nan  # what was learned is not kept
        rows = {name: means[:, at] for at, name in enumerate(MEASURED)}
        first = np.add.accumulate(rows["approx_kl"][: self.minibatches.count], axis=0)[-1] / self.minibatches.count
        alike = rows["approx_kl"].shape
        return rows | {
            "first_kl": np.broadcast_to(first, alike),
            "unstable": np.broadcast_to(self.unstable.astype(np.float64), alike),
        }


def _tensors(state: Mapping[str, Array]) -> dict[str, Tensor]:
    return {name: torch.tensor(value) for name, value in state.items()}
