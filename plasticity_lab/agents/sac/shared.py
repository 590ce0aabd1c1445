"""SAC on images: actor and critics are one network with shared convolutions, and one update changes all of them.

Legend: K runs, B rows of a batch (padded), D numbers of an observation, A numbers of an action, U updates of a chunk.

Source: Dopamine's sac_agent (Castro et al. 2018), `train`. Differences from the updates of separate networks
    (`step.py`):
- All gradients are taken at the same parameters.
- The target network has an actor too, and the targets' critics evaluate the middle of its policy.
- Standard deviations are exp of the actor's output, without bounds.
- The temperature uses the same actions as the actor.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.acting.measured import Measured
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.compiled import Call, Compiled
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac.learning import Learning
from plasticity_lab.agents.sac.policy import BOUNDS, middle, normal_like, sampled
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.step import OF_ACTOR, OF_CRITICS, Step
from plasticity_lab.agents.sac.temperature import NAME, Temperature, learn
from plasticity_lab.agents.target_network import follow
from plasticity_lab.agents.update import Loss, LossOutput, TrainState, UpdateInputs, drawn, row_of, update_of
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.body import Body
from plasticity_lab.interventions.now import State
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.elementary import exp

Tensors = Mapping[str, Tensor]
NEXT_ACTION, NOW = PURPOSES = ("next action", "action")
"""Purposes of the normal numbers that are drawn: the target's entropy, and the actor's action."""
MEASURED = ("critic_loss", "q", "actor_loss", "entropy")
HALF = 0.5
"""Weight of the critics' errors relative to the actor's loss."""
READS = (3, 4, 5, 6, 7, 9)
"""Positions of the arguments that a step does not change."""


def target_of(
    model: Model,
    body: str,
    target: Tensors,
    log_alpha: Tensor,
    settings: Mapping[str, Any],
    keys: Mapping[str, Any],
    batch: Tensors,
    count: Tensor,
) -> Tensor:
    """The targets of a batch, (K, B): the smaller value of the target network's middle action, plus the entropy of a
    drawn action.

    target: the target network's parameters.
    log_alpha (K,).
    settings, keys, batch: as in the step.
    count (): selects the random numbers.
    """
    shape, following = settings[""]["activation"], as_floats(batch["following"])
    outputs, _ = model.forward(target, shape, following, None, body)
    normal = normal_like(keys[NEXT_ACTION], count, outputs["mean"])
    _, density = sampled(outputs, normal, settings[BOUNDS], bounded=False)
    there = torch.cat([following, middle(outputs, settings[BOUNDS])], dim=2)
    outputs, _ = model.forward(target, shape, there, None, body)
    value = torch.minimum(outputs["q1"], outputs["q2"]).squeeze(-1) - exp(log_alpha).unsqueeze(1) * density
    return batch["returns"] + batch["discount"] * value


def loss_of(model: Model, held: Model, body: str) -> Loss:
    """Half the squared errors of both critics, plus α · log π − the smaller value of an action that the actor draws.

    A batch has "x" (K, B, D + A), observations and the actions taken, "target" (K, B), "normal" (K, B, A), "alpha" (K,
    B), "half" and "middle" (A,), "weight" (B,), and the random numbers of `drawn`.
    held: a second instance of the model. It evaluates the drawn action with parameters that get no gradient, and its
        forward passes have no effect on the first instance.
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        x, bounds = batch["x"], {name: batch[name] for name in ("half", "middle")}
        outputs, hidden = model.forward(parameters, settings["activation"], x, batch.get("drawn"), body)
        action, density = sampled(outputs, batch["normal"], bounds, bounded=False)
        fixed = {name: value.detach() for name, value in parameters.items()}
        there = torch.cat([x[..., : -action.shape[2]], action], dim=2)
        valued, _ = held.forward(fixed, settings["activation"], there, None, body)
        errors = [outputs[name].squeeze(-1) - batch["target"] for name in ("q1", "q2")]
        critics = errors[0] * errors[0] + errors[1] * errors[1]
        actor = batch["alpha"] * density - torch.minimum(valued["q1"], valued["q2"]).squeeze(-1)
        own = (critics, outputs["q1"].squeeze(-1), actor, -density)
        total = (HALF * critics + actor) * batch["weight"]
        return LossOutput(total, dict(zip(MEASURED, own, strict=True)), hidden, batch["weight"])

    return loss


def learned_from(batch: Tensors, target: Tensor, normal: Tensor, alpha_K: Tensor, bounds: Tensors) -> dict[str, Tensor]:
    """The batch for `loss_of`, from a batch of the memory."""
    return {
        "x": torch.cat([as_floats(batch["x"]), batch["action"]], dim=2),
        "target": target,
        "normal": normal,
        "alpha": alpha_K.unsqueeze(1).expand_as(target),
        "weight": batch["weight"],
        **bounds,
    }


def step_of(network: PackedNetwork, held: Model, temperature: Temperature, body: str, learns_alpha: bool) -> Step:
    """One update of all parameters, and of the target, which follows. It returns the intervention's next state.

    Its arguments:
    train, target, alpha: the train state, the target's parameters, and the temperature's parameters and moments; all
        changed in place.
    entropy (K,): the target entropy.
    settings, keys: network → the arguments of any update; `keys` also has the keys of PURPOSES.
    batch: "x" and "following" (K, B, D), "action" (K, B, A), "returns" and "discount" (K, B), "weight" (B,).
    rows: the optimizer's corrections and "updates", with a row for each of the U, for the network and for the
        temperature.
    measured: for critics and for actor, (U, Q, K, B), which it writes.
    at (1,): the index of the update.
    """
    model = network.model
    update = update_of(model, loss_of(model, held, body), network.optimizer, network.intervention)

    def step(
        train: TrainState,
        target: Tensors,
        alpha: tuple[Tensors, Mapping[str, Tensors]],
        entropy: Tensor,
        settings: Mapping[str, Any],
        keys: Mapping[str, Any],
        batch: Tensors,
        rows: Mapping[str, Tensors],
        measured: tuple[Tensor, Tensor],
        at: Tensor,
    ) -> State:
        now, then = row_of(rows[""], at), row_of(rows[NAME], at)
        count, log_alpha = now["updates"], alpha[0][NAME]
        pulled = target_of(model, body, target, log_alpha, settings, keys, batch, count)
        normal, weight = normal_like(keys[NOW], count, batch["action"]), exp(log_alpha)
        learn_from = learned_from(batch, pulled, normal, weight, settings[BOUNDS])
        learn_from |= drawn(model, keys[""], count, pulled.shape[1], body)
        state, own = update(train, UpdateInputs(settings[""], keys[""]["intervention"], count, now), learn_from)
        follow(target, train.parameters, settings[""]["agent"]["tau"])
        of_critics = torch.stack([own["critic_loss"], own["q"], learn_from["alpha"]])
        measured[0].index_copy_(0, at, of_critics.unsqueeze(0))
        measured[1].index_copy_(0, at, torch.stack([own["actor_loss"], own["entropy"]]).unsqueeze(0))
        if learns_alpha:
            density = -own["entropy"].detach()
            learn(temperature.adam, *alpha, settings[NAME], then, density, batch["weight"], entropy, of_logarithm=True)
        return state

    return step


ONLY = ""
"""The name of the network."""


class Shared(Learning):
    """One network, one optimizer, one target; an update changes all of them.

    models: the network's model, with the key ONLY.
    held: a second instance of that model.
    updates: maximum number of updates in a chunk.
    """

    acting, critic, followed, purposes = ONLY, ONLY, (ONLY,), PURPOSES

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
        super().__init__(agent, parts, models, {}, {body.name: temperature}, {body.name: body}, device)
        self.network, self.held = self.networks[ONLY], held
        self.of_critics = Measured(OF_CRITICS, updates, self.runs, agent.batch, device)
        self.of_actor = Measured(OF_ACTOR, updates, self.runs, agent.batch, device)
        step = step_of(self.network, held, temperature, body.name, agent.learn_temperature)
        same = "sac shared", parts.structure, models[ONLY].structure_key, body.name
        self.step = Compiled(step, same, reads=READS) if compiled else step

    def update(self, memory: Memory) -> None:
        """One update of all parameters."""
        network = self.network
        network.kept = self.step(*self._given(memory.batch(memory.drawn(network.updates), self.device)))
        network.took(1)
        self.temperature.updates += 1
        self.taken[ONLY] += 1

    def calls(self, memory: Memory) -> Sequence[Call]:
        """The update."""
        return ((self.step, lambda: self._given(memory.example(self.device))),)

    def _given(self, batch: Tensors) -> Sequence[Any]:
        """The arguments of the next update."""
        network, alpha = self.network, self.temperature
        return (
            network.train_state, self.targets[ONLY].parameters, (alpha.parameters, alpha.moments), self.entropy,
            self.settings, self.keys, batch, self.rows,
            (self.of_critics.tensor, self.of_actor.tensor), self.of_critics.at[self.taken[ONLY]],
        )  # fmt: skip

    def view(self, memory: Memory | None) -> View:
        """The view of the network. Its probe is drawn from the memory, in the form of the loss."""
        network, body, probe = self.network, self.body.name, dict[str, Tensor]()
        if memory is not None and (batch := memory.probe(network.updates, self.device)):
            count = torch.tensor(network.updates, device=self.device)
            log_alpha, target = self.temperature.parameters[NAME], self.targets[ONLY].parameters
            with torch.no_grad():
                pulled = target_of(network.model, body, target, log_alpha, self.settings, self.keys, batch, count)
                normal = normal_like(self.keys[NOW], count, batch["action"])
                probe = learned_from(batch, pulled, normal, exp(log_alpha), self.settings[BOUNDS])
        return network.view(loss_of(network.model, self.held, body), probe)
