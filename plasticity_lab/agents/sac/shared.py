"""An actor and two critics that are one network, with convolutions that all of them share: SAC on images."""

from collections.abc import Mapping

import torch

from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac import shared_step as steps
from plasticity_lab.agents.sac.learning import Learning
from plasticity_lab.agents.sac.measured import Measured
from plasticity_lab.agents.sac.policy import BOUNDS, normal_like
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.temperature import NAME, Temperature
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.body import Body
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.elementary import exp
from plasticity_lab.stacking.run_axis import aligned

ONLY = ""
"""The name of the network."""


class Shared(Learning):
    """One network, one optimizer, one target; an update is one of everything.

    models: the network's, under ONLY. held: the same once more. updates: of a chunk, at most.
    """

    acting, critic, followed, purposes = ONLY, ONLY, (ONLY,), steps.PURPOSES

    def __init__(
        self,
        agent: SACSettings,
        parts: Parts[BodyBenchmark],
        models: Mapping[str, Model],
        held: Model,
        body: Body,
        updates: int,
        device: torch.device,
        compiled: bool,
    ) -> None:
        optimizers, starts = parts.optimizers, [each.temperature for each in parts.each("agent", SACSettings)]
        epsilons = [each.epsilon if isinstance(each, Adam) else Adam().epsilon for each in optimizers]
        temperature = Temperature([each.lr for each in optimizers], starts, device, epsilons)
        super().__init__(agent, parts, models, {}, temperature, body, device)
        self.network, self.held = self.networks[ONLY], held
        self.at = [torch.tensor([row], device=device) for row in range(updates)]
        self.measured = Measured(updates, updates, self.runs, aligned(agent.batch), agent.batch, device)
        step = steps.step_of(self.network, held, temperature, body.name, agent.learn_temperature)
        same = "sac shared", parts.structure, models[ONLY].structure_key, body.name
        self.step = Compiled(step, same, reads=steps.READS) if compiled else step

    def update(self, memory: Memory) -> None:
        """One update of everything."""
        network, alpha = self.network, self.temperature
        network.kept = self.step(
            network.train_state, self.targets[ONLY].parameters, (alpha.parameters, alpha.moments), self.entropy,
            self.settings, self.keys, memory.batch(memory.drawn(network.updates), self.device), self.rows,
            (self.measured.critics, self.measured.actor),
            self.at[self.taken[ONLY]],
        )  # fmt: skip
        network.took(1)
        alpha.updates += 1
        self.taken[ONLY] += 1

    def view(self, memory: Memory | None) -> View:
        """The network; its probe is drawn from the memory, as its loss takes it."""
        network, body, probe = self.network, self.body.name, dict[str, torch.Tensor]()
        if memory is not None and (batch := memory.probe(network.updates, self.device)):
            count = torch.tensor(network.updates, device=self.device)
            log_alpha, target = self.temperature.parameters[NAME], self.targets[ONLY].parameters
            with torch.no_grad():
                pulled = steps.target_of(network.model, body, target, log_alpha, self.settings, self.keys, batch, count)
                normal = normal_like(self.keys[steps.NOW], count, batch["action"])
                probe = steps.learned_from(batch, pulled, normal, exp(log_alpha), self.settings[BOUNDS])
        return network.view(steps.loss_of(network.model, self.held, body), probe)
