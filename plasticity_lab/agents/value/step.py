"""One update of a whole pack: targets, loss, backward, optimizer. This is what is compiled.

Legend: K runs, B rows of a batch (padded), U updates of a chunk, Q numbers that the loss measures of each row.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.drawn import drawn
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.update import TrainState, UpdateInputs, update_of
from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.agents.value.loss import MEASURED, loss_of
from plasticity_lab.agents.value.targets import projected, values
from plasticity_lab.interventions.now import State
from plasticity_lab.kernels.through import through
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import uniforms

Tensors = Mapping[str, Tensor]
Settings = Mapping[str, Tensors]
Step = Callable[..., State]
Targets = Callable[[Tensors, Tensors, Settings, Tensors, Tensor | None], Tensor]
TARGET_NOISE = "target noise"
READS = (1, 2, 3, 4, 5, 7)
"""Of a step's arguments those that it does not change."""


def targets_of(model: Model, body: str, action_values: ActionValues, double: bool, kernels: bool = False) -> Targets:
    """What a batch is pulled towards, as a function of tensors: (K, B), or distributions (K, B, Z).

    Its arguments: the network's parameters; the target network's; settings (part → name → (K,)); a batch with
    "following" (K, B, D), "returns" and "discount" (K, B); random numbers of noisy layers, or None.

    The next action is the best one by the target network, or, if `double`, by the network itself, with the same noise
    (van Hasselt et al. 2016); its value is the target network's. Both answer in evaluation mode but for the noise: a
    randomised activation has its mean slope there. The noise has the scope of `model`. kernels: whether layers are
    computed by our own.
    """

    def targets(own: Tensors, target: Tensors, settings: Settings, batch: Tensors, noise: Tensor | None) -> Tensor:
        def answers(parameters: Tensors) -> Tensors:
            given = through(parameters, kernels)
            return model.forward(given, settings["activation"], batch["following"], None, body, noise)[0]

        agent, then = settings["agent"], answers(target)
        if not action_values.atoms and not double:
            return values(action_values.of_all(then, agent).amax(dim=-1), batch["returns"], batch["discount"])
        best = action_values.of_all(answers(own) if double else then, agent).argmax(dim=-1)
        if not action_values.atoms:
            return values(action_values.of_actions(then, best), batch["returns"], batch["discount"])
        return projected(
            action_values.distributions(then, best), action_values.support(agent), batch["returns"], batch["discount"]
        )

    return targets


def step_of(
    network: PackedNetwork, body: str, action_values: ActionValues, double: bool, kernels: bool = False
) -> Step:
    """The step as a function of tensors alone.

    Its arguments: what it changes; the target network's parameters; settings (part → name → (K,)); keys of random
    numbers, purpose → (K, 2); batch: "x" and "following" (K, B, D), "action", "returns" and "discount" (K, B), "weight"
    (B,) and perhaps "importance" (K, B), as `loss_of` and `targets_of` take them; rows: the optimizer's corrections and
    "updates", how many came before, a row for each of the U; measured (U, Q, K, B), into which it writes; at (1,),
    which of the U updates it is. It changes parameters and moments in place and returns the intervention's next state.
    kernels: whether layers are computed by our own.

    All following observations of a run's batch have the same noise, whatever the scope of the agent's noise is. Source:
    `target_output` in Dopamine's full_rainbow_agent.py, which its labs/moes call too.
    """
    model, of_targets = network.model, network.model.with_noise_scope("batch")
    loss = loss_of(model, body, action_values)
    update = update_of(model, loss, network.optimizer, network.intervention, kernels=kernels, examples="x")
    targets = targets_of(of_targets, body, action_values, double, kernels)

    def step(
        train_state: TrainState,
        target: Tensors,
        settings: Settings,
        keys: Tensors,
        batch: Tensors,
        rows: Tensors,
        measured: Tensor,
        at: Tensor,
    ) -> State:
        now = {name: values.index_select(0, at).squeeze(0) for name, values in rows.items()}
        examples, noise = batch["x"].shape[1], None
        if count := of_targets.noise(examples, body):
            noise = uniforms(keys[TARGET_NOISE], now["updates"], count)
        learn = {
            **{name: batch[name] for name in ("x", "action", "weight", "importance") if name in batch},
            "target": targets(train_state.parameters, target, settings, batch, noise),
            **drawn(model, keys, now["updates"], examples, body),
        }
        state, own = update(train_state, UpdateInputs(settings, keys["intervention"], now["updates"], now), learn)
        measured.index_copy_(0, at, torch.stack([own[name] for name in MEASURED]).unsqueeze(0))
        return state

    return step
