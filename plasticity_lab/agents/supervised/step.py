"""One step of a whole pack: batch, forward, loss, backward, optimizer, intervention. This function is compiled.

Legend: K runs, S steps of a chunk, B examples of a batch, D pixels, O classes, R images on the device.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.images import Pixels
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
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import State
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.stacking.batch_normed import Learning
from plasticity_lab.stacking.elementary import exp, log_softmax, log_softmax_at, summed_last
from plasticity_lab.stacking.optimizer import Optimizer

Tensors = Mapping[str, Tensor]
Step = Callable[..., State]
LEARNING = "learning"
"""Batch entry of an update alone, if the network has running statistics."""
READS = (1, 2, 3, 4, 6)
"""Positions of the arguments that a step does not change."""
READS_IN_TRANSITION = (*READS, 7)
MOVE = "move"
"""With augmentation: the table's entry with the move of each example, (K, B)."""
SHARE, EARLIER = "share", "earlier "
"""In a transition: the batch entry with the part of each example that is the task's own, (K, B), and the prefix of
entries of the task before.
"""


def model_of(parts: Parts[LabelledBenchmark], images: ImageSet) -> Model:
    """The model from an image to "logits", a number for each class of the benchmark."""
    image = tuple(images.train_images.shape[1:])
    shapes = Shapes(image, {"logits": parts.benchmark.outputs(images)}, batches=parts.benchmark.batch_size > 1)
    return Model(parts.network, parts.activations, {"image": shapes})


def log_likelihood(outputs: Tensors, labels: Tensor) -> Tensor:
    """The log-likelihood of each label (K, B) given the "logits" (K, B, O): (K, B)."""
    return log_softmax_at(outputs["logits"], labels)


def between(new: Tensor, earlier: Tensor, share: Tensor) -> Tensor:
    """Between two tensors of one shape: for a share of 1 exactly the new one, for 0 the earlier one."""
    return share * new + (1 - share) * earlier


def between_tasks(batch: Tensors, loss: Callable[[Tensor], Tensor]) -> Tensor:
    """The losses of a batch, from a function of its labels; in a transition of both tasks, by their shares."""
    new = loss(batch["labels"])
    return between(new, loss(batch[f"{EARLIER}labels"]), batch[SHARE]) if SHARE in batch else new


def divergence(settings: Tensors, outputs: Tensors, reference: Tensors) -> Tensor:
    """The cross-entropy of the classes' probabilities with a reference's, (K, B); the gradient reaches `outputs` alone.

    It is the reference's entropy if both are equal. settings: the agent's; none is read.
    """
    shares = exp(log_softmax(reference["logits"].detach()))
    return -summed_last(shares * log_softmax(outputs["logits"]))


def cross_entropy_of(model: Model) -> Loss:
    """The cross-entropy of a batch. It measures "loss" and "right", (K, B).

    A batch has "x" (K, B, D) floats, "labels" (K, B), "weights" (B,) and the random numbers of `drawn`; in a perturbed
    run also "factor" (). In an update of a network with running statistics, its weights are also LEARNING. In a
    transition it also has SHARE and "earlier labels" (K, B): the target lies between both labels, and "right" counts
    the label with the larger part.
    """

    def cross_entropy(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        learning = Learning(batch[LEARNING]) if LEARNING in batch else None
        outputs, hidden = model.forward(
            parameters,
            settings["activation"],
            batch["x"],
            batch.get("drawn"),
            noise=batch.get("noise"),
            factor=batch.get("factor"),
            learning=learning,
        )
        labels_KB = batch["labels"]
        loss_KB = between_tasks(batch, lambda labels: -log_likelihood(outputs, labels))
        if SHARE in batch:
            labels_KB = torch.where(batch[SHARE] < 0.5, batch[f"{EARLIER}labels"], labels_KB)
        right_KB = outputs["logits"].argmax(dim=-1) == labels_KB
        return LossOutput(
            loss_KB * batch["weights"],
            {"loss": loss_KB, "right": right_KB},
            hidden,
            batch["weights"],
            outputs,
            loss_KB,
            learning.after if learning else {},
        )

    return cross_entropy


def step_of(
    model: Model,
    optimizer: Optimizer,
    intervention: Intervention,
    pixels: Pixels,
    kernels: bool = False,
    loss_of: Callable[[Model], Loss] = cross_entropy_of,
    max_norm: float | None = None,
) -> Step:
    """The step as a function of tensors alone. It has no other state, and reads nothing back from the device.

    It changes parameters and moments in place and returns the intervention's next state. Its arguments:
    train_state: changed in place.
    settings: part → name → (K,).
    keys: keys of random numbers, purpose → (K, 2).
    images: (R, D) uint8.
    tables: a row for each step of the chunk: "images" (S, K, B) into R, "labels" (S, K, B), "weights" (S, B),
        "position" (S,) earlier steps of the run, with augmentation MOVE (S, K, B), in a perturbed run "factor" (S,),
        and the optimizer's corrections. If the intervention requires a second batch, also `SECOND` (S, K, B) into R.
    measured: "loss" and "right" (S, K, B), which it writes.
    at (1,): the index of the step among the S.
    earlier: images (R, D) of the task before, in a transition; the tables then also have SHARE (S, K, B), and the
        EARLIER "images" and "labels" (S, K, B).
    """
    update = update_of(
        model,
        loss_of(model),
        optimizer,
        intervention,
        clip_to(max_norm),
        kernels,
        examples="x",
        divergence=divergence,
    )

    def step(
        train_state: TrainState,
        settings: Mapping[str, Tensors],
        keys: Tensors,
        images_RD: Tensor,
        tables: Tensors,
        measured: Tensors,
        at: Tensor,
        earlier_RD: Tensor | None = None,
    ) -> State:
        now = row_of(tables, at)
        batch_KB = now["images"]

        def read(rows_RD: Tensor, at_KB: Tensor) -> Tensor:
            raw = rows_RD.index_select(0, at_KB.flatten()).view(*at_KB.shape, -1)
            return pixels.scaled(pixels.moved(raw, now[MOVE]) if MOVE in now else raw)

        x_KBD = read(images_RD, batch_KB)
        mixed: dict[str, Tensor] = {}
        if earlier_RD is not None:
            mixed = {name: now[name] for name in (SHARE, f"{EARLIER}labels")}
            x_KBD = between(x_KBD, read(earlier_RD, now[f"{EARLIER}images"]), now[SHARE].unsqueeze(-1))
        batch = {"x": x_KBD, "labels": now["labels"], "weights": now["weights"], **mixed}
        if (second_KB := now.get(SECOND)) is not None:
            batch[SECOND] = read(images_RD, second_KB)
        batch |= {"factor": now["factor"]} if "factor" in now else {}
        batch |= {LEARNING: now["weights"]} if model.statistics else {}
        batch |= drawn(model, keys, now["position"], batch_KB.shape[1])
        state, own = update(train_state, UpdateInputs(settings, keys["intervention"], now["position"], now), batch)
        measured["loss"].index_copy_(0, at, own["loss"].unsqueeze(0))
        measured["right"].index_copy_(0, at, own["right"].unsqueeze(0))
        return state

    return step
