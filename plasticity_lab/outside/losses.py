"""The loss of each example alone, from a user's loss of a torch module's outputs, checked against it.

Legend: B examples, O outputs.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from plasticity_lab.errors import InputError

Loss = Callable[[Any, Any], Tensor]
"""(outputs, targets (B, ...)) → the loss of each example, (B,). outputs: as the module returns them."""
RIGHT = "loss=lambda outputs, targets: (outputs - targets).square().mean(dim=1)"
"""A loss of each example, for messages."""
TOLERANCE = 1e-3
"""The largest rounding error in float32, as a share of the largest value: a GPU may round to TF32."""


def each_cross_entropy(outputs: Any, labels: Any) -> Tensor:
    """The cross entropy of each example, (B,).  outputs: logits, or a mapping with "logits".

    Raises InputError for other outputs, other targets than labels, or a single class.
    """
    logits = outputs.get("logits") if isinstance(outputs, Mapping) else outputs
    if not isinstance(logits, Tensor) or not isinstance(labels, Tensor):
        raise InputError(
            f"The module returns a {type(outputs).__name__}, and the default loss is the cross entropy of one tensor; "
            "give a loss, for example loss=lambda outputs, targets: functional.cross_entropy(outputs[0], targets, "
            "reduction='none')."
        )
    if labels.is_floating_point():
        raise InputError(
            "The targets are floats, and the default loss is the cross entropy of whole-number labels. Give the loss "
            f"that fits, for example {RIGHT}, or loss=nn.CrossEntropyLoss() if the targets are probabilities."
        )
    _check_classes(logits)
    return cross_entropy(logits, labels.long(), reduction="none")


def loss_of_each(loss: Loss, outputs: Any, targets: Any, examples: int) -> Loss:
    """The loss as a function of each example, (B,), checked against the given one on these outputs and targets.

    A loss of torch.nn that averages is used without its reduction: the mean over the examples equals the given loss.
    Raises InputError for any other loss that gives no number for each example, or one that depends on the other
    examples.
    """
    reduction = getattr(loss, "reduction", "none")
    if reduction == "sum":
        raise InputError(
            f"{type(loss).__name__} with reduction='sum' adds up the losses of the examples, so that λ and gradients "
            "would grow with their number; give it with reduction='none', or 'mean'."
        )
    if isinstance(loss, nn.Module) and not isinstance(outputs, Tensor):
        raise InputError(
            f"The module returns a {type(outputs).__name__}, and {type(loss).__name__} needs one tensor; give a "
            "function, as loss=lambda outputs, targets: (outputs[0] - targets).square().mean(dim=1)."
        )
    if isinstance(loss, nn.CrossEntropyLoss):
        _check_classes(outputs)
        _check_probabilities(outputs, targets)
    each = cast(Loss, _without_reduction(cast(nn.Module, loss), outputs, targets)) if reduction != "none" else loss
    found = called(each, outputs, targets)
    if found.shape != (examples,):
        raise InputError(
            f"The loss gives values of shape {tuple(found.shape)} for {examples} examples; it must give one for each, "
            f"({examples},), and neither their mean nor their sum, for example {RIGHT}, or reduction='none'."
        )
    if isinstance(outputs, Tensor) and isinstance(targets, Tensor):
        half = examples // 2
        if not close(called(each, outputs[:half], targets[:half]), found[:half]):
            raise InputError(f"The loss of an example depends on the other examples; it must not, as in {RIGHT}.")
    return each


def close(ours: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors are equal up to rounding."""
    if ours.shape != theirs.shape:
        return False
    finite = theirs[theirs.isfinite()].abs()
    most = finite.max().item() if len(finite) else 0.0
    share = TOLERANCE if theirs.dtype == torch.float32 else 1e-9
    return torch.allclose(ours, theirs, rtol=share, atol=share * most, equal_nan=True)


def called(loss: Loss, outputs: Any, targets: Any) -> Tensor:
    """The loss, without a gradient.  Raises InputError if it fails."""
    try:
        with torch.no_grad():
            found = loss(outputs, targets)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"The loss fails on the module's outputs and the targets: {error}") from error
    if not isinstance(found, Tensor):
        raise InputError(f"The loss gives a {type(found).__name__}; it must give a tensor, one value for each example.")
    return found


def _without_reduction(loss: nn.Module, outputs: Tensor, targets: Tensor) -> Loss:
    """The loss without its reduction. Raises InputError if the given loss is not the mean of its examples' losses."""
    bare = copy.copy(loss)
    bare.reduction = "none"  # pyright: ignore[reportArgumentType]

    def each(outputs: Tensor, targets: Tensor) -> Tensor:
        found = bare(outputs, targets)
        by_part = found.dim() > 1 and found.shape in (outputs.shape, targets.shape)  # for several outputs, or positions
        return found.flatten(1).mean(dim=1) if by_part else found

    values, given = called(each, outputs, targets).flatten(), called(cast(Loss, loss), outputs, targets)
    if not close(values.mean(), given):
        raise InputError(
            f"{type(loss).__name__} is not the mean over the examples of one number for each; give a function of each "
            f"example, as {RIGHT}."
        )
    return each


def _check_classes(outputs: Tensor) -> None:
    if outputs.dim() < 2 or outputs.shape[1] < 2:
        raise InputError(
            f"The outputs have shape {tuple(outputs.shape)}, and cross entropy needs two classes or more; give another "
            "loss, for example loss=nn.BCEWithLogitsLoss() for one output of two classes, or loss=nn.MSELoss()."
        )


def _check_probabilities(outputs: Tensor, targets: Tensor) -> None:
    if targets.is_floating_point() and targets.shape == outputs.shape:
        sums = targets.sum(dim=1)
        if not (bool((targets >= 0).all()) and close(sums, torch.ones_like(sums))):
            raise InputError(
                "Float targets of a cross entropy must be probabilities, rows that add up to 1; these are not. Give "
                f"another loss, for example {RIGHT}."
            )
