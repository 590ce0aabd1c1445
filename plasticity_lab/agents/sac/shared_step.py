"""The update of a pack whose actor and critics are one network: both critics, actor and temperature at once.

Legend: K runs, B rows of a batch (padded), D numbers of an observation, A numbers of an action, U updates of a chunk.

Source: Dopamine's sac_agent (Castro et al. 2018), `train`. What it does otherwise than the step of three networks: all
gradients are taken at the same numbers; the target network has an actor too, the middle of whose policy is what the
targets' critics value; deviations are e to what the actor answers, without bounds; and the temperature sees the same
actions as the actor.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.drawn import drawn
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.sac.policy import BOUNDS, middle, normal_like, sampled
from plasticity_lab.agents.sac.step import Step
from plasticity_lab.agents.sac.temperature import NAME, Temperature, learn
from plasticity_lab.agents.target_network import follow
from plasticity_lab.agents.update import Loss, LossOutput, TrainState, UpdateInputs, update_of
from plasticity_lab.interventions.now import State
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.elementary import exp

Tensors = Mapping[str, Tensor]
NEXT_ACTION, NOW = PURPOSES = ("next action", "action")
"""For what normal numbers are drawn: the target's entropy, and the actor's action."""
MEASURED = ("critic_loss", "q", "actor_loss", "entropy")
HALF = 0.5
"""What the critics' errors count beside the actor's loss."""
READS = (3, 4, 5, 6, 7, 9)
"""Of a step's arguments those that it does not change."""


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
    """What a batch is pulled towards, (K, B): of the target network's own middle action the lesser value, and the
    entropy of an action that it draws.

    target: its parameters. log_alpha (K,). settings, keys, batch: as of the step. count (): of what is drawn.
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
    """Half the squared errors of both critics, and α · log π − the lesser value of an action that the actor draws.

    A batch has "x" (K, B, D + A), observations and the actions taken, "target" (K, B), "normal" (K, B, A), "alpha"
    (K, B), "half" and "middle" (A,), "weight" (B,), and what `drawn` gives. held: the same model once more, by which
    the drawn action is valued with parameters that get no gradient; its passes are nobody else's business.
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
    """What `loss_of` takes, of a batch of the memory."""
    return {
        "x": torch.cat([as_floats(batch["x"]), batch["action"]], dim=2),
        "target": target,
        "normal": normal,
        "alpha": alpha_K.unsqueeze(1).expand_as(target),
        "weight": batch["weight"],
        **bounds,
    }


def step_of(network: PackedNetwork, held: Model, temperature: Temperature, body: str, learns_alpha: bool) -> Step:
    """One update of everything, and of the target, which follows.

    Its arguments: the train state, the target's parameters, and the temperature's parameters and moments, which it
    changes in place; entropy (K,), the entropy that is asked for; settings and keys, network → as for any update, and
    the keys of PURPOSES; batch: "x" and "following" (K, B, D), "action" (K, B, A), "returns" and "discount" (K, B),
    "weight" (B,); rows: the optimizer's corrections and "updates", a row for each of the U, of the network and of the
    temperature; measured: of critics and of actor, (U, Q, K, B), into which it writes; at (1,). It returns the
    intervention's next state.
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
        now, then = ({name: x.index_select(0, at).squeeze(0) for name, x in rows[of].items()} for of in ("", NAME))
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
