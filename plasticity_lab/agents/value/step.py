"""One update of a whole pack: targets, loss, backward, optimizer. This is what is compiled.

Legend: K runs, B rows of a batch (padded), U updates of a chunk, Q numbers that the loss measures of each row.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.drawn import drawn
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.update import TrainState, UpdateInputs, update_of
from plasticity_lab.agents.value.loss import MEASURED, loss_of, targets
from plasticity_lab.interventions.intervention import State

Tensors = Mapping[str, Tensor]
Step = Callable[..., State]


def step_of(network: PackedNetwork, body: str) -> Step:
    """The step as a function of tensors alone.

    Its arguments: what it changes; the target network's parameters; settings (part → name → (K,)); keys of random
    numbers, purpose → (K, 2); batch: "x" and "following" (K, B, D), "action", "returns" and "discount" (K, B), "weight"
    (B,), as `loss_of` and `targets` take them; rows: the optimizer's corrections and "updates", how many came before,
    a row for each of the U; measured (U, Q, K, B), into which it writes; at (1,), which of the U updates it is. It
    changes parameters and moments in place and returns the intervention's next state.

    The target network answers in evaluation mode: a randomised activation has its mean slope there.
    """
    model = network.model
    update = update_of(model, loss_of(model, body), network.optimizer, network.intervention)

    def step(
        train_state: TrainState,
        target: Tensors,
        settings: Mapping[str, Tensors],
        keys: Tensors,
        batch: Tensors,
        rows: Tensors,
        measured: Tensor,
        at: Tensor,
    ) -> State:
        now = {name: values.index_select(0, at).squeeze(0) for name, values in rows.items()}
        then = model.forward(target, settings["activation"], batch["following"], None, body)[0]["q"]
        learn = {
            "x": batch["x"],
            "action": batch["action"],
            "target": targets(then, batch["returns"], batch["discount"]),
            "weight": batch["weight"],
            **drawn(model, keys, now["updates"], batch["x"].shape[1], body),
        }
        state, own = update(train_state, UpdateInputs(settings, keys["intervention"], now["updates"], now), learn)
        measured.index_copy_(0, at, torch.stack([own[name] for name in MEASURED]).unsqueeze(0))
        return state

    return step
