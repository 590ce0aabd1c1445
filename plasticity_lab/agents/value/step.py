"""The loss of value agents, their targets, and one update of a whole pack: the function that is compiled.

Legend: K runs, B rows of a batch (padded), D numbers of an observation, Z atoms of a distribution, U updates of a
chunk, Q numbers that the loss measures of each row.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.update import SECOND, Loss, LossOutput, TrainState, UpdateInputs, drawn, row_of, update_of
from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.agents.value.targets.inputs import (
    ONLINE_NEXT,
    ONLINE_NOW,
    TARGET_NEXT,
    TARGET_NOW,
    StateValues,
    TargetInputs,
)
from plasticity_lab.agents.value.targets.target import Target
from plasticity_lab.errors import OwnClassError
from plasticity_lab.interventions.now import State
from plasticity_lab.kernels.through import through
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.stacking.elementary import exp, log_softmax, summed_last

Tensors = Mapping[str, Tensor]
MEASURED = ("loss", "q")
"""The measurements of each example, listed by position: its unweighted loss, and the value of its action."""


def loss_of(model: Model, body: str, action_values: ActionValues) -> Loss:
    """The loss, a mean over the batch with a weight for each example.

    A batch has "x" (K, B, D), "action" (K, B), "target", the target of the action's value (K, B) or of its distribution
    (K, B, Z), "weight" (B,): 1 / examples, 0 for rows of padding, and the random numbers of `drawn`. With "importance"
    (K, B) each loss is multiplied by it.

    For values: squared error, no factor ½ (Dopamine's `mse`). For distributions: cross-entropy (Bellemare et al. 2017).
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        outputs, hidden = model.forward(
            parameters, settings["activation"], batch["x"], batch.get("drawn"), body, batch.get("noise")
        )
        own = action_values.of_actions(outputs, batch["action"])
        if action_values.atoms:
            logs = log_softmax(own)
            error = -summed_last(batch["target"] * logs)
            q = summed_last(exp(logs.detach()) * action_values.support(settings["agent"])[:, None])
        else:
            q, error = own, (batch["target"] - own) * (batch["target"] - own)
        total = error * batch["weight"]
        if "importance" in batch:
            total = total * batch["importance"]
        measured: dict[str, Tensor] = dict(zip(MEASURED, (error, q), strict=True))
        return LossOutput(total, measured, hidden, batch["weight"], outputs, error)

    return loss


Settings = Mapping[str, Tensors]
Step = Callable[..., State]
Targets = Callable[[Tensors, Tensors, Settings, Tensors, Tensor | None], Tensor]
TARGET_NOISE = "target noise"
TARGET = "target"
"""The target's part of the settings."""
NETWORK_AND_STATES = {
    TARGET_NEXT: ("target", "following"),
    ONLINE_NEXT: ("online", "following"),
    TARGET_NOW: ("target", "x"),
    ONLINE_NOW: ("online", "x"),
}
"""Pass of a target → the network that computes it, and the states in the batch."""
READS = (1, 2, 3, 4, 5, 7)
"""Positions of the arguments that a step does not change."""


def targets_of(model: Model, body: str, action_values: ActionValues, target: Target, kernels: bool = False) -> Targets:
    """The targets of a batch, as a function of tensors: (K, B), or distributions (K, B, Z).

    Its arguments: the network's parameters; the target network's; settings (part → name → (K,)); a batch with "x" and
        "following" (K, B, D), "action", "returns" and "discount" (K, B); random numbers of noisy layers, or None.

    Every pass is in evaluation mode except for the noise, so a randomised activation has its mean slope. All passes
    have the same noise, with the scope of `model`.
    kernels: whether our own kernels compute layers.
    Raises OwnClassError if the target declares a pass that does not exist, or if a target has another shape.
    """
    if unknown := [name for name in target.passes if name not in NETWORK_AND_STATES]:
        known = ", ".join(f"'{name}'" for name in NETWORK_AND_STATES)
        raise OwnClassError(f"{type(target).__name__} names '{unknown[0]}' in passes; the passes are {known}.")

    def targets(own: Tensors, behind: Tensors, settings: Settings, batch: Tensors, noise: Tensor | None) -> Tensor:
        agent, parameters = settings["agent"], {"online": own, "target": behind}

        def values_of(network: str, states: str) -> StateValues:
            given = through(parameters[network], kernels)
            outputs = model.forward(given, settings["activation"], batch[states], None, body, noise)[0]
            return StateValues(action_values, outputs, agent)

        passes = {name: values_of(*NETWORK_AND_STATES[name]) for name in target.passes}
        taken = batch["action"], batch["returns"], batch["discount"]
        found = target.target(TargetInputs(action_values, passes, *taken, settings[TARGET], agent))
        promised = (*batch["action"].shape, *([action_values.atoms] if action_values.atoms else []))
        if found.shape != promised:  # it would be broadcast to the shape of the values
            what = f"{type(target).__name__}.target returns {tuple(found.shape)}"
            raise OwnClassError(f"{what}; it must return {promised}: runs, examples{', atoms' * bool(promised[2:])}.")
        return found

    return targets


def step_of(
    network: PackedNetwork, body: str, action_values: ActionValues, target: Target, kernels: bool = False
) -> Step:
    """The step as a function of tensors alone. It changes parameters and moments in place and returns the
    intervention's next state.

    Its arguments:
    train_state: changed in place.
    behind: the target network's parameters.
    settings: part → name → (K,); the part `TARGET` has the target's.
    keys: keys of random numbers, purpose → (K, 2).
    batch: "x" and "following" (K, B, D), "action", "returns" and "discount" (K, B), "weight" (B,) and optionally
        "importance" (K, B), as in `loss_of` and `targets_of`; and `SECOND` (K, B, D) if the intervention requires it.
    rows: the optimizer's corrections and "updates" (number of earlier updates), with a row for each of the U.
    measured: (U, Q, K, B), which it writes.
    at (1,): the index of the update among the U.

    kernels: whether our own kernels compute layers.

    All observations of a run's targets have the same noise, for every scope of the agent's noise. Source:
    `target_output` in Dopamine's full_rainbow_agent.py, which its labs/moes call too.
    """
    model, of_targets = network.model, network.model.with_noise_scope("batch")
    loss = loss_of(model, body, action_values)
    update = update_of(
        model, loss, network.optimizer, network.intervention, kernels=kernels, examples="x", body=body,
        divergence=action_values.divergence,
    )  # fmt: skip
    targets = targets_of(of_targets, body, action_values, target, kernels)

    def step(
        train_state: TrainState,
        behind: Tensors,
        settings: Settings,
        keys: Tensors,
        batch: Tensors,
        rows: Tensors,
        measured: Tensor,
        at: Tensor,
    ) -> State:
        now, settings = row_of(rows, at), {**settings, "agent": action_values.with_support(settings["agent"])}
        examples, noise = batch["x"].shape[1], None
        if count := of_targets.noise(examples, body):
            noise = uniforms(keys[TARGET_NOISE], now["updates"], count)
        learn = {
            **{name: batch[name] for name in ("x", "action", "weight", "importance", SECOND) if name in batch},
            "target": targets(train_state.parameters, behind, settings, batch, noise),
            **drawn(model, keys, now["updates"], examples, body),
        }
        state, own = update(train_state, UpdateInputs(settings, keys["intervention"], now["updates"], now), learn)
        measured.index_copy_(0, at, torch.stack([own[name] for name in MEASURED]).unsqueeze(0))
        return state

    return step
