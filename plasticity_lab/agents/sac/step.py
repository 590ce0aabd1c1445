"""The updates of a whole pack: for both critics, and for the actor with the temperature. These functions are compiled.

Legend: K runs, B rows of a batch (padded), A numbers of an action, U updates of a chunk, Q measurements of each row.

Source: Haarnoja et al. 2018, equations 5 to 10, with two critics (Fujimoto et al. 2018), in the form of CleanRL's
    sac_continuous_action.py. A network learns with the slopes that its randomised activations draw; while another
    network learns, it uses their mean slope.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.sac.policy import BOUNDS, normal_like, sampled
from plasticity_lab.agents.sac.temperature import NAME, Temperature, learn
from plasticity_lab.agents.target_network import follow
from plasticity_lab.agents.update import Loss, LossOutput, TrainState, UpdateInputs, drawn, row_of, update_of
from plasticity_lab.interventions.now import State
from plasticity_lab.kernels.through import through
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.elementary import exp

Tensors = Mapping[str, Tensor]
ACTOR, CRITICS = "actor", ("critic1", "critic2")
NETWORKS = (ACTOR, *CRITICS)
OF_CRITICS, OF_ACTOR = ("critic_loss", "q", "temperature"), ("actor_loss", "entropy")
"""The measurements of each row, listed by position."""
NEXT_ACTION, NOW, AFTERWARDS = PURPOSES = ("next action", "action", "action after the update")
"""Purposes of the normal numbers that are drawn: actions for the target, for the actor, and for the temperature."""
READS = (2, 3, 4, 5, 6, 7, 9)
"""Positions of the arguments that each step does not change."""
ByNetwork = Mapping[str, Any]
Step = Callable[..., Any]


def target_of(models: Mapping[str, Model], body: str, kernels: bool = False) -> Callable[..., Tensor]:
    """The targets of a batch, (K, B), as a function of tensors. A target has the value of the actor's next action, the
    smaller one of the critics' targets, and its entropy.

    kernels: whether our own kernels compute layers.

    Its arguments:
    targets: the targets' parameters, by critic.
    actor_parameters: the actor's parameters.
    log_alpha (K,).
    settings, keys, batch: as in the critics' step.
    count (): selects the random numbers.
    """

    def target(
        targets: ByNetwork,
        actor_parameters: Tensors,
        log_alpha: Tensor,
        settings: ByNetwork,
        keys: ByNetwork,
        batch: Tensors,
        count: Tensor,
    ) -> Tensor:
        shape = settings[ACTOR]["activation"]
        outputs, _ = models[ACTOR].forward(through(actor_parameters, kernels), shape, batch["following"], None, body)
        action, density = sampled(outputs, normal_like(keys[NEXT_ACTION], count, outputs["mean"]), settings[BOUNDS])
        there = torch.cat([batch["following"], action], dim=2)
        values = []
        for name in CRITICS:
            own, critic_shape = through(targets[name], kernels), settings[name]["activation"]
            values.append(models[name].forward(own, critic_shape, there, None, body)[0]["q"].squeeze(-1))
        following = torch.minimum(*values) - exp(log_alpha).unsqueeze(1) * density
        return batch["returns"] + batch["discount"] * following

    return target


def critics_step_of(
    networks: Mapping[str, PackedNetwork], target: Callable[..., Tensor], body: str, kernels: bool = False
) -> Step:
    """One update of both critics, and of their targets, which follow them. It returns the interventions' next states,
    by name.

    target: the result of `target_of`.
    kernels: as in `target_of`.

    Its arguments:
    trains, targets: train states of the critics, by name, and their targets' parameters; changed in place.
    actor_parameters: the actor's parameters.
    log_alpha: log α.
    settings, keys: network → the arguments of any update; `keys` also has the keys of PURPOSES.
    batch: "x" and "following" (K, B, D), "action" (K, B, A), "returns" and "discount" (K, B), "weight" (B,).
    rows: network → the optimizer's corrections and "updates", with a row for each of the U.
    measured: (U, Q, K, B), which it writes.
    at (1,): the index of the update.
    """
    models = {name: networks[name].model for name in CRITICS}
    updates = {
        name: update_of(
            model, critic_loss_of(model, body), networks[name].optimizer, networks[name].intervention,
            kernels=kernels, examples="x", body=body,
        )
        for name, model in models.items()
    }  # fmt: skip

    def step(
        trains: Mapping[str, TrainState],
        targets: ByNetwork,
        actor_parameters: Tensors,
        log_alpha: Tensor,
        settings: ByNetwork,
        keys: ByNetwork,
        batch: Tensors,
        rows: ByNetwork,
        measured: Tensor,
        at: Tensor,
    ) -> dict[str, State]:
        now = {name: row_of(rows[name], at) for name in CRITICS}
        count = now[CRITICS[0]]["updates"]
        pulled = target(targets, actor_parameters, log_alpha, settings, keys, batch, count)
        states: dict[str, State] = {}
        losses, q = [], []
        for name in CRITICS:
            learn_from = {"x": torch.cat([batch["x"], batch["action"]], dim=2), "target": pulled}
            learn_from |= {"weight": batch["weight"], **drawn(models[name], keys[name], count, pulled.shape[1], body)}
            inputs = UpdateInputs(settings[name], keys[name]["intervention"], count, now[name])
            states[name], own = updates[name](trains[name], inputs, learn_from)
            losses.append(own["critic_loss"])
            q.append(own["q"])
            follow(targets[name], trains[name].parameters, settings[name]["agent"]["tau"])
        alpha = exp(log_alpha).unsqueeze(1).expand_as(q[0])
        measured.index_copy_(0, at, torch.stack([losses[0] + losses[1], q[0], alpha]).unsqueeze(0))
        return states

    return step


def actor_step_of(
    networks: Mapping[str, PackedNetwork],
    temperature: Temperature,
    body: str,
    learns_alpha: bool,
    kernels: bool = False,
) -> Step:
    """One update of the actor, and one of the temperature by the updated actor's actions. It returns the intervention's
    next state.

    Its arguments:
    train, alpha: the actor's train state, and the temperature's parameters and moments; changed in place.
    critic_parameters: the critics' parameters, by name.
    entropy (K,): the target entropy.
    The others are the same as in the critics' step, with settings and corrections of the temperature under NAME.

    kernels: as in `target_of`.
    """
    actor = networks[ACTOR].model
    critics = {name: networks[name].model for name in CRITICS}
    loss = _actor_loss_of(actor, critics, body, kernels)
    own = networks[ACTOR]
    update = update_of(actor, loss, own.optimizer, own.intervention, kernels=kernels, examples="x", body=body)

    def step(
        train: TrainState,
        alpha: tuple[Tensors, Mapping[str, Tensors]],
        critic_parameters: ByNetwork,
        entropy: Tensor,
        settings: ByNetwork,
        keys: ByNetwork,
        batch: Tensors,
        rows: ByNetwork,
        measured: Tensor,
        at: Tensor,
    ) -> State:
        now = row_of(rows[ACTOR], at)
        count, examples = now["updates"], batch["x"].shape[1]
        shape = batch["action"]
        learn_from = {"x": batch["x"], "weight": batch["weight"], "normal": normal_like(keys[NOW], count, shape)}
        learn_from |= {
            "alpha": exp(alpha[0][NAME]),
            **settings[BOUNDS],
            **drawn(actor, keys[ACTOR], count, examples, body),
        }
        for name in CRITICS:
            learn_from |= {f"{name}: {part}": value for part, value in critic_parameters[name].items()}
            learn_from |= {f"{name}; {part}": value for part, value in settings[name]["activation"].items()}
        inputs = UpdateInputs(settings[ACTOR], keys[ACTOR]["intervention"], count, now)
        state, own = update(train, inputs, learn_from)
        if learns_alpha:
            now_acts = through(train.parameters, kernels)
            outputs, _ = actor.forward(now_acts, settings[ACTOR]["activation"], batch["x"], None, body)
            _, density = sampled(outputs, normal_like(keys[AFTERWARDS], count, shape), settings[BOUNDS])
            own_settings, corrections = settings[NAME], row_of(rows[NAME], at)
            learn(temperature.adam, *alpha, own_settings, corrections, density.detach(), batch["weight"], entropy)
        measured.index_copy_(0, at, torch.stack([own[name] for name in OF_ACTOR]).unsqueeze(0))
        return state

    return step


def critic_loss_of(model: Model, body: str) -> Loss:
    """The squared error of a critic. A batch has "x" (K, B, D + A), "target" (K, B), "weight" (B,), and the numbers of
    `drawn`.
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        outputs, hidden = model.forward(parameters, settings["activation"], batch["x"], batch.get("drawn"), body)
        q = outputs["q"].squeeze(-1)
        error = (q - batch["target"]) * (q - batch["target"])
        return LossOutput(error * batch["weight"], {"critic_loss": error, "q": q}, hidden, batch["weight"])

    return loss


def _actor_loss_of(actor: Model, critics: Mapping[str, Model], body: str, kernels: bool) -> Loss:
    """α · log π − the smaller value.

    A batch has "x" (K, B, D), "normal" (K, B, A), "alpha" (K,), "half" and "middle" (A,), "weight" (B,), and the random
    numbers of `drawn`. It also has the critics' parameters under "<critic>: <name>", and their activations' settings
    under "<critic>; <name>".
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        outputs, hidden = actor.forward(parameters, settings["activation"], batch["x"], batch.get("drawn"), body)
        action, density = sampled(outputs, batch["normal"], {name: batch[name] for name in ("half", "middle")})
        there = torch.cat([batch["x"], action], dim=2)
        values = []
        for name, model in critics.items():
            own, shape = through(_under(f"{name}: ", batch), kernels), _under(f"{name}; ", batch)
            values.append(model.forward(own, shape, there, None, body)[0]["q"].squeeze(-1))
        error = batch["alpha"].unsqueeze(1) * density - torch.minimum(*values)
        return LossOutput(error * batch["weight"], {"actor_loss": error, "entropy": -density}, hidden, batch["weight"])

    return loss


def _under(prefix: str, values: Tensors) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
