"""The loss of PPO: clipped policy gradient, squared error of the value, entropy.

Legend: K runs, B examples of a minibatch, D numbers of an observation, A numbers of an action.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.ppo.policy import entropy, log_probability
from plasticity_lab.agents.update import Loss, LossOutput
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.elementary import exp

Tensors = Mapping[str, Tensor]
MEASURED = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
"""What the loss measures of each example, in this order."""


def loss_of(model: Model, body: str, clip_value: bool) -> Loss:
    """The loss of one body.

    A batch has "x" (K, B, D), "action" (K, B) whole or (K, B, A), and (K, B) each: "old", the log-probability of the
    action when it was taken; "value", as it was then; "advantage"; "target", what the value should be; "weight" (B,):
    1 / examples, 0 where one only fills up the rows. Beside these the random numbers that `drawn` gives.

    approx_kl is (ratio − 1) − log ratio, which is never negative (Schulman, "Approximating KL Divergence", 2020).
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        outputs, hidden = model.forward(
            parameters, settings["activation"], batch["x"], batch.get("drawn"), body, batch.get("noise")
        )
        clip, value_weight, entropy_weight = (
            settings["agent"][name].unsqueeze(1) for name in ("clip", "value_weight", "entropy_weight")
        )
        change = log_probability(outputs, batch["action"]) - batch["old"]
        ratio, advantage = exp(change), batch["advantage"]
        bounded = torch.minimum(torch.maximum(ratio, 1 - clip), 1 + clip)
        policy_loss = -torch.minimum(ratio * advantage, bounded * advantage)
        value = outputs["value"].squeeze(-1)
        value_loss = (value - batch["target"]) * (value - batch["target"])
        if clip_value:
            moved = torch.minimum(torch.maximum(value - batch["value"], -clip), clip)
            off = batch["value"] + moved - batch["target"]
            value_loss = torch.maximum(value_loss, off * off)
        spread = entropy(outputs)
        total = (policy_loss + value_weight * value_loss - entropy_weight * spread) * batch["weight"]
        outside = ((ratio - 1).abs() > clip).to(total.dtype)
        parts = (policy_loss, value_loss, spread, (ratio - 1) - change, outside)
        return LossOutput(total, dict(zip(MEASURED, parts, strict=True)), hidden, batch["weight"])

    return loss
