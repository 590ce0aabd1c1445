"""One step of all copies: batch, loss, gradient, optimizer, intervention. This function is compiled.

Legend: C copies, S steps of a chunk, B examples of a batch, N examples of a problem, D, O numbers of an example and of
all outputs, R rows.
"""

from collections.abc import Callable, Mapping

from torch import Tensor

from plasticity_lab.agents.optimizer_step import TrainState, UpdateInputs
from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.agents.supervised.step import LEARNING, log_likelihood
from plasticity_lab.agents.update import Loss, LossOutput, drawn, row_of, update_of
from plasticity_lab.assays.assay import joined
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import State
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.batch_normed import Learning
from plasticity_lab.stacking.elementary import summed_last
from plasticity_lab.stacking.optimizer import Optimizer

Tensors = Mapping[str, Tensor]
READS = (1, 2, 3, 4, 5, 7)
"""Positions of the arguments that a step does not change."""
LABELS, TARGETS = "labels", "targets"
"""Batch entries: classes (C, B), or wanted outputs (C, B, O)."""


def example_loss(outputs: Tensors, batch: Tensors) -> Tensor:
    """The loss of each example, (C, B): the cross-entropy of its label, or the mean squared error of all outputs."""
    if LABELS in batch:
        return -log_likelihood(outputs, batch[LABELS])
    apart = joined(outputs) - batch[TARGETS]
    return summed_last(apart * apart) / apart.shape[2]


def loss_of(model: Model, body: str | None) -> Loss:
    """The loss of a batch with "x" (C, B, D), LABELS or TARGETS, "weights" (B,), and the random numbers of `drawn`."""

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        learning = Learning(batch[LEARNING]) if LEARNING in batch else None
        outputs, hidden = model.forward(
            parameters, settings["activation"], batch["x"], batch.get("drawn"), body, noise=batch.get("noise"),
            learning=learning,
        )  # fmt: skip
        loss_CB = example_loss(outputs, batch)
        statistics = learning.after if learning else {}
        total_CB = loss_CB * batch["weights"]
        return LossOutput(total_CB, {"loss": loss_CB}, hidden, batch["weights"], outputs, loss_CB, statistics)

    return loss


def inputs_of(rows: Tensor, at: Tensor, pixels: Pixels | None) -> Tensor:
    """The inputs of a network, (C, B, D) float32, from rows (R, D) at (C, B)."""
    found = rows.index_select(0, at.flatten()).view(*at.shape, -1)
    return found if pixels is None else pixels.scaled(found)


def step_of(
    model: Model,
    optimizer: Optimizer,
    intervention: Intervention,
    pixels: Pixels | None,
    body: str | None,
    kernels: bool,
) -> Callable[..., State]:
    """The step as a function of tensors alone. It changes parameters and moments in place and returns the
    intervention's next state. Its arguments:
    train_state: changed in place. settings: part → name → (C,). keys: keys of random numbers, purpose → (C, 2).
    rows: (R, D). targets: (rows, O), or empty if the problem has labels.
    tables: a row for each step: "rows" (S, C, B) into `rows`, LABELS (S, C, B), or TARGETS (S, C, B) into `targets`,
        "weights" (S, B), "position" (S,) earlier steps, and the optimizer's corrections.
    measured: "loss" (S, C, B), which it writes. at (1,): the index of the step among the S.
    """
    loss = loss_of(model, body)
    update = update_of(model, loss, optimizer, intervention, None, kernels, examples="x", body=body)

    def step(
        train_state: TrainState,
        settings: Mapping[str, Tensors],
        keys: Tensors,
        rows_RD: Tensor,
        targets_RO: Tensor,
        tables: Tensors,
        measured: Tensors,
        at: Tensor,
    ) -> State:
        now = row_of(tables, at)
        batch = {"x": inputs_of(rows_RD, now["rows"], pixels), "weights": now["weights"]}
        if LABELS in now:
            batch[LABELS] = now[LABELS]
        else:
            batch[TARGETS] = inputs_of(targets_RO, now[TARGETS], None)
        batch |= {LEARNING: now["weights"]} if model.statistics else {}
        batch |= drawn(model, keys, now["position"], now["rows"].shape[1], body)
        inputs = UpdateInputs(settings, keys["intervention"], now["position"], now)
        state, own = update(train_state, inputs, batch)
        measured["loss"].index_copy_(0, at, own["loss"].unsqueeze(0))
        return state

    return step
