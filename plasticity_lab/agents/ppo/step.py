"""One update of a whole pack on one body: minibatch, loss, backward, clipping, optimizer. This is what is compiled.

Legend: K runs, R rows of a rollout, U updates by it, B rows of a minibatch, Q numbers that the loss measures of each.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.drawn import drawn
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.ppo.loss import MEASURED, loss_of
from plasticity_lab.agents.update import Clip, TrainState, UpdateInputs, update_of
from plasticity_lab.interventions.now import State
from plasticity_lab.stacking.optimizer import clipped

Tensors = Mapping[str, Tensor]
Step = Callable[..., State]
READS = (1, 2, 3, 4, 6)
"""Of a step's arguments those that it does not change."""


def step_of(network: PackedNetwork, body: str, clip_value: bool, max_norm: float | None, kernels: bool = False) -> Step:
    """The step as a function of tensors alone.

    Its arguments: what it changes; settings (part → name → (K,)); keys of random numbers, purpose → (K, 2); common and
    rows as `Minibatches.tables` gives them, rows with the optimizer's corrections and "updates", how many came before;
    measured (U, Q, K, B), into which it writes; at (1,), which of the U updates it is. It changes parameters and
    moments in place and returns the intervention's next state. kernels: whether linear layers are computed by our own.
    """
    model = network.model
    loss = loss_of(model, body, clip_value)
    update = update_of(model, loss, network.optimizer, network.intervention, _clip(max_norm), kernels, examples="x")

    def step(
        train_state: TrainState,
        settings: Mapping[str, Tensors],
        keys: Tensors,
        common: Tensors,
        rows: Tensors,
        measured: Tensor,
        at: Tensor,
    ) -> State:
        now = {name: values.index_select(0, at).squeeze(0) for name, values in rows.items()}
        pick_KB = now["pick"]
        batch = {
            name: values.index_select(0, pick_KB.flatten()).unflatten(0, pick_KB.shape)
            for name, values in common.items()
            if name != "weight"
        }
        batch |= {"advantage": now["advantage"], "weight": common["weight"]}
        batch |= drawn(model, keys, now["updates"], pick_KB.shape[1], body)
        state, own = update(train_state, UpdateInputs(settings, keys["intervention"], now["updates"], now), batch)
        measured.index_copy_(0, at, torch.stack([own[name] for name in MEASURED]).unsqueeze(0))
        return state

    return step


def _clip(max_norm: float | None) -> Clip | None:
    """Scales each run's gradients to a norm of at most `max_norm`."""
    if max_norm is None:
        return None

    def clip(gradients: Tensors, settings: Tensors) -> dict[str, Tensor]:
        return clipped(gradients, torch.full_like(settings["clip"], max_norm))

    return clip
