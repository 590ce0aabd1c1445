"""One step of a whole pack: batch, forward, loss, backward, optimizer, intervention. This is what is compiled.

Legend: K runs, S steps of a chunk, B examples of a batch, D pixels, O classes, R images on the device.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.interventions.intervention import Intervention, State
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.stacking.optimizer import Optimizer

Tensors = Mapping[str, Tensor]
Settings = Mapping[str, Tensors]
Step = Callable[..., State]


def step_of(model: Model, optimizer: Optimizer, intervention: Intervention, pixels: Pixels) -> Step:
    """The step as a function of tensors alone; it sees no other state, and reads nothing back from the device.

    Its arguments: parameters, moments, the intervention's state; settings (part → name → (K,)); keys (K, 2) of the
    random numbers; images (R, D) uint8; tables, a row for each step of the chunk: "images" (S, K, B) into R, "labels"
    (S, K, B), "weights" (S, B), "position" (S,) steps of the run before it, and the optimizer's corrections; measured,
    "loss" and "right" (S, K, B), into which it writes; at (1,), which of the S steps it is. It changes parameters and
    moments in place and returns the intervention's next state. Losses of the runs are summed, so that one backward pass
    leaves every run its own gradient.
    """

    def loss(
        parameters: Tensors,
        state: State,
        settings: Settings,
        x_KBD: Tensor,
        labels_KB: Tensor,
        weights_B: Tensor,
        drawn: Tensor | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor, dict[str, Tensor]]]:
        logits_KBO, hidden = model.forward(parameters, settings["activation"], x_KBD, drawn)
        logs_KBO = torch.log_softmax(logits_KBO, dim=-1)
        loss_KB = -logs_KBO.gather(-1, labels_KB.unsqueeze(-1)).squeeze(-1)
        penalty_K = intervention.penalty(parameters, settings["intervention"], state)
        right_KB = logits_KBO.argmax(dim=-1) == labels_KB
        watched = hidden if intervention.watches_units else {}
        return (loss_KB * weights_B).sum() + penalty_K.sum(), (loss_KB, right_KB, watched)

    def step(
        parameters: Tensors,
        moments: Mapping[str, Tensors],
        state: State,
        settings: Settings,
        keys_K2: Tensor,
        images_RD: Tensor,
        tables: Tensors,
        measured: Tensors,
        at: Tensor,
    ) -> State:
        now = {name: rows.index_select(0, at).squeeze(0) for name, rows in tables.items()}
        batch_KB = now["images"]
        x_KBD = pixels.scaled(images_RD.index_select(0, batch_KB.flatten())).view(*batch_KB.shape, -1)
        draws = model.draws(batch_KB.shape[1])
        drawn = uniforms(keys_K2, now["position"], draws) if draws else None
        gradients, (loss_KB, right_KB, hidden) = torch.func.grad(loss, has_aux=True)(
            parameters, state, settings, x_KBD, now["labels"], now["weights"], drawn
        )
        optimizer.update(parameters, gradients, moments, settings["optimizer"], now)
        measured["loss"].index_copy_(0, at, loss_KB.unsqueeze(0))
        measured["right"].index_copy_(0, at, right_KB.unsqueeze(0))
        return intervention.after_step(parameters, hidden, moments, settings["intervention"], state)

    return step
