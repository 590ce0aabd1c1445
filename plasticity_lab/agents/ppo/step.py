"""The loss of PPO, and one update of a whole pack on one body: the function that is compiled.

Legend: K runs, R rows of a rollout, U updates by it, B rows of a minibatch, D numbers of an observation, A numbers of
an action, Q numbers that the loss measures of each row.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.ppo.policy import divergence, entropy, log_probability
from plasticity_lab.agents.update import (
    SECOND,
    Loss,
    LossOutput,
    TrainState,
    UpdateInputs,
    clip_to,
    drawn,
    row_of,
    update_of,
)
from plasticity_lab.interventions.now import State
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.elementary import exp

Tensors = Mapping[str, Tensor]
MEASURED = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
"""The measurements of the loss for each example, listed by position."""


def loss_of(model: Model, body: str, clip_value: bool) -> Loss:
    """The loss for one body: clipped policy gradient, squared error of the value, entropy.

    A batch has:
    "x" (K, B, D), "action" (K, B) whole or (K, B, A);
    "old" (K, B): the log-probability of the action when it was taken;
    "value" (K, B): the value at that time;
    "advantage" (K, B), and "target" (K, B): the value's target;
    "weight" (B,): 1 / examples, 0 for rows of padding;
    and the random numbers of `drawn`.

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
        measured: dict[str, Tensor] = dict(zip(MEASURED, parts, strict=True))
        return LossOutput(total, measured, hidden, batch["weight"], outputs, policy_loss)

    return loss


Step = Callable[..., State]
READS = (1, 2, 3, 4, 6)
"""Positions of the arguments that a step does not change."""


def step_of(
    network: PackedNetwork,
    body: str,
    clip_value: bool,
    max_norm: float | None,
    kernels: bool = False,
    in_round: int = 1,
) -> Step:
    """The step as a function of tensors alone. It changes parameters and moments in place and returns the
    intervention's next state.

    Its arguments:
    train_state: changed in place.
    settings: part → name → (K,).
    keys: keys of random numbers, purpose → (K, 2).
    common, rows: the result of `Minibatches.tables`. Rows also have the optimizer's corrections and "updates", the
        number of earlier updates.
    measured: (U, Q, K, B), which it writes.
    at (1,): the index of the update among the U.

    kernels: whether our own kernels compute linear layers. in_round: U.
    """
    model = network.model
    loss = loss_of(model, body, clip_value)
    update = update_of(
        model,
        loss,
        network.optimizer,
        network.intervention,
        clip_to(max_norm),
        kernels,
        "x",
        body,
        divergence,
        in_round,
    )

    def step(
        train_state: TrainState,
        settings: Mapping[str, Tensors],
        keys: Tensors,
        common: Tensors,
        rows: Tensors,
        measured: Tensor,
        at: Tensor,
    ) -> State:
        now = row_of(rows, at)
        pick_KB = now["pick"]
        batch = {
            name: values.index_select(0, pick_KB.flatten()).unflatten(0, pick_KB.shape)
            for name, values in common.items()
            if name != "weight"
        }
        batch |= {"advantage": now["advantage"], "weight": common["weight"]}
        if "second pick" in now:
            x, pick = common["x"], now["second pick"]
            batch[SECOND] = x.index_select(0, pick.flatten()).unflatten(0, pick.shape)
        batch |= drawn(model, keys, now["updates"], pick_KB.shape[1], body)
        state, own = update(train_state, UpdateInputs(settings, keys["intervention"], now["updates"], now), batch)
        measured.index_copy_(0, at, torch.stack([own[name] for name in MEASURED]).unsqueeze(0))
        return state

    return step
