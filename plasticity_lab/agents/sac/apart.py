"""SAC with separate networks: an actor and two critics that share nothing, for bodies with observations of numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.acting.measured import Measured
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.compiled import Call, Compiled
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac import step as steps
from plasticity_lab.agents.sac.learning import Learning
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.step import ACTOR, CRITICS, PURPOSES, Step
from plasticity_lab.agents.sac.temperature import NAME, Temperature
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.body import Body
from plasticity_lab.kernels.operators import RANDOM_NUMBERS
from plasticity_lab.kernels.through import prepare
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.optimizer import Optimizer


class Apart(Learning):
    """Three networks, updated one after another; the actor has a different update period.

    models: keys are the names in NETWORKS.
    actor_optimizers: the runs' optimizers for the actor.
    updates: maximum number of updates in a chunk.
    """

    acting, critic, followed, purposes = ACTOR, CRITICS[0], CRITICS, PURPOSES

    def __init__(
        self,
        agent: SACSettings,
        parts: Parts[BodyBenchmark],
        models: Mapping[str, Model],
        actor_optimizers: Sequence[Optimizer],
        bodies: Mapping[str, Body],
        updates: int,
        device: torch.device,
        compiled: bool,
    ) -> None:
        rates = [optimizer.lr for optimizer in parts.optimizers]
        starts = [each.temperature for each in parts.each("agent", SACSettings)]
        temperatures = {name: Temperature(rates, starts, device) for name in bodies}
        self._same = parts.structure, *(model.structure_key for model in models.values())
        self._kernels, self._compiled, self._models = parts.kernels, compiled, models
        self._steps: dict[str, tuple[Step, Step]] = {}  # by body: a compiled step is a graph of one body's shapes
        super().__init__(agent, parts, models, {ACTOR: actor_optimizers}, temperatures, bodies, device)
        of_actor = updates + agent.policy_period
        self.of_critics = Measured(steps.OF_CRITICS, updates, self.runs, agent.batch, device)
        self.of_actor = Measured(steps.OF_ACTOR, of_actor, self.runs, agent.batch, device)

    def turn_to(self, name: str) -> None:
        """Makes an environment the active one."""
        super().turn_to(name)
        self.target = steps.target_of(self._models, name, self._kernels)
        if name not in self._steps:
            self._steps[name] = self._built(name)
        self.critics_step, self.actor_step = self._steps[name]

    def _built(self, body: str) -> tuple[Step, Step]:
        """The updates of critics and actor in an environment."""
        kernels, same = self._kernels, (*self._same, body)
        if kernels:
            prepare([RANDOM_NUMBERS], at_once=False)
        critics = steps.critics_step_of(self.networks, self.target, body, kernels)
        actor = steps.actor_step_of(self.networks, self.temperature, body, self.agent.learn_temperature, kernels)
        if not self._compiled:
            return critics, actor
        return (
            Compiled(critics, ("sac critics", *same), reads=steps.READS),
            Compiled(actor, ("sac actor", *same), reads=steps.READS),
        )

    def update(self, memory: Memory) -> None:
        """One update of the critics. If the actor is due, it takes as many updates as the critics have had since its
        last turn.
        """
        networks, updates = self.networks, self.updates
        batch = memory.batch(memory.drawn(updates), self.device)
        states = self.critics_step(*self._given_to_critics(batch))
        for name, state in states.items():
            networks[name].kept = state
            networks[name].took(1)
            self.taken[name] += 1
        for _ in range(self.agent.policy_period if updates % self.agent.policy_period == 0 else 0):
            networks[ACTOR].kept = self.actor_step(*self._given_to_actor(batch))
            networks[ACTOR].took(1)
            self.temperature.updates += 1
            self.taken[ACTOR] += 1

    def calls(self, memory: Memory) -> Sequence[Call]:
        """The updates of critics and actor."""
        return (
            (self.critics_step, lambda: self._given_to_critics(memory.example(self.device))),
            (self.actor_step, lambda: self._given_to_actor(memory.example(self.device))),
        )

    def _given_to_critics(self, batch: Mapping[str, Tensor]) -> Sequence[Any]:
        """The arguments of the critics' next update."""
        return (
            {name: self.networks[name].train_state for name in CRITICS}, self.active_targets, self._active(ACTOR),
            self.temperature.parameters[NAME], self.settings, self.keys, batch, self.rows,
            self.of_critics.tensor, self.of_critics.at[self.taken[CRITICS[0]]],
        )  # fmt: skip

    def _given_to_actor(self, batch: Mapping[str, Tensor]) -> Sequence[Any]:
        """The arguments of the actor's next update."""
        alpha, critics = self.temperature, {name: self._active(name) for name in CRITICS}
        return (
            self.networks[ACTOR].train_state, (alpha.parameters, alpha.moments), critics, self.entropy,
            self.settings, self.keys, batch, self.rows, self.of_actor.tensor, self.of_actor.at[self.taken[ACTOR]],
        )  # fmt: skip

    def _active(self, name: str) -> dict[str, Tensor]:
        """The parameters of a network that serve the active environment."""
        network = self.networks[name]
        return network.model.active(network.parameters, network.body)

    def view(self, memory: Memory | None) -> View:
        """The view of the first critic. Its probe is drawn from the memory, in the form of the critic's loss."""
        network, probe = self.networks[self.critic], dict[str, Tensor]()
        if memory is not None and (batch := memory.probe(network.updates, self.device)):
            own = {each: target.parameters for each, target in self.targets.items()}
            count, log_alpha = torch.tensor(network.updates, device=self.device), self.temperature.parameters[NAME]
            with torch.no_grad():
                target = self.target(
                    own, self.networks[ACTOR].parameters, log_alpha, self.settings, self.keys, batch, count
                )
            probe = {"x": torch.cat([batch["x"], batch["action"]], dim=2), "target": target, "weight": batch["weight"]}
        return network.view(steps.critic_loss_of(network.model, self.body.name), probe)
