"""One step of a whole pack: forward, loss, backward, optimizer, intervention. This is what is compiled.

Legend: K runs, B examples, D pixels, O classes.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from plasticity_lab.interventions.intervention import Intervention, State
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import run_keys, uniforms
from plasticity_lab.stacking.optimizer import Optimizer

Settings = Mapping[str, Mapping[str, Tensor]]


class Step:
    """Calls the step, eager or compiled. The function it calls sees no state but its arguments."""

    def __init__(
        self,
        model: Model,
        optimizer: Optimizer,
        intervention: Intervention,
        init_seeds: Sequence[int],
        device: torch.device,
        compiled: bool,
    ) -> None:
        self.device = device
        self.keys = run_keys(init_seeds, "activation", device)
        step = step_of(model, optimizer, intervention)
        self.function = torch.compile(step, fullgraph=True, dynamic=False) if compiled else step

    def __call__(
        self,
        parameters: Mapping[str, Tensor],
        moments: Mapping[str, Mapping[str, Tensor]],
        state: State,
        settings: Settings,
        now: Mapping[str, Tensor],
        x_KBD: Tensor,
        labels_KB: Tensor,
        weights_B: Tensor,
        position: int,
    ) -> tuple[Tensor, Tensor, State]:
        """Updates parameters and moments in place.  Returns loss (K, B), right (K, B), and the intervention's state.

        position: steps taken before this one, counted through the run; random numbers are a function of it.
        """
        at = torch.tensor(position, device=self.device)
        return self.function(parameters, moments, state, settings, now, self.keys, x_KBD, labels_KB, weights_B, at)


def step_of(model: Model, optimizer: Optimizer, intervention: Intervention) -> Callable[..., tuple]:
    """The step as a function of tensors alone.

    Losses of the runs are summed, so that one backward pass leaves every run its own gradient.
    """

    def loss(
        parameters: Mapping[str, Tensor],
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
        parameters: Mapping[str, Tensor],
        moments: Mapping[str, Mapping[str, Tensor]],
        state: State,
        settings: Settings,
        now: Mapping[str, Tensor],
        keys_K2: Tensor,
        x_KBD: Tensor,
        labels_KB: Tensor,
        weights_B: Tensor,
        position: Tensor,
    ) -> tuple[Tensor, Tensor, State]:
        draws = model.draws(x_KBD.shape[1])
        drawn = uniforms(keys_K2, position, draws) if draws else None
        gradients, (loss_KB, right_KB, hidden) = torch.func.grad(loss, has_aux=True)(
            parameters, state, settings, x_KBD, labels_KB, weights_B, drawn
        )
        optimizer.update(parameters, gradients, moments, settings["optimizer"], now)
        state = intervention.after_step(parameters, hidden, moments, settings["intervention"], state)
        return loss_KB, right_KB, state

    return step
