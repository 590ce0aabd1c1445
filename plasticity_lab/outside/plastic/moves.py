"""A call of a function in a traced pass, and the positions of units after functions that only move or pool values."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.utils._pytree import tree_leaves

from plasticity_lab.outside.plastic import functions
from plasticity_lab.outside.plastic.origins import Origin, axis_of, numbered


class Call(NamedTuple):
    """A call of a function.  before: id of a tensor among its arguments → its origin."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    given: dict[str, Any]
    made: Any
    before: Mapping[int, Origin]

    def named(self, *order: str) -> dict[str, Any]:
        """All arguments by name.  order: the names of the first ones."""
        return dict(zip(order, self.args, strict=False)) | self.given

    @property
    def first(self) -> Any:
        """The first argument."""
        return self.args[0] if self.args else self.given.get("input")


def tensors_in(values: Any) -> list[Tensor]:
    """The tensors in arguments or results."""
    return [each for each in tree_leaves(values) if isinstance(each, Tensor)]


def alike(origin: Origin, made: Any) -> bool:
    """Whether a result has the shape of the labels."""
    return isinstance(made, Tensor) and all(labels.shape == made.shape for labels in origin.sources.values())


def moved_labels(call: Call, labels: Any) -> list[Tensor] | None:
    """The labels after a function, one tensor for each result; None if they are unknown."""
    name, more, given = call.name, call.args[1:], {key: value for key, value in call.given.items() if key != "input"}
    results = tensors_in(call.made)
    try:
        if name in functions.MOVED:
            return tensors_in(call.function(labels, *more, **given))
        mode = (more[1:2] or (given.get("mode", "constant"),))[0]
        if name == "pad" and not given.get("value") and mode == "constant":
            return [pad(labels, more[0] if more else given["pad"], value=-1)]
        if name in functions.POOLED and len(results) == 1:
            axis = axis_of(labels)
            alike = axis is not None and results[0].dim() == labels.dim()
            kept = alike and axis is not None and results[0].shape[axis] == labels.shape[axis]
            return [numbered(results[0].shape, axis)] if kept and axis is not None else None
        if name in functions.REDUCED and (dims := more[0] if more else given.get("dim")) is not None:
            low, high = (each(dims, given.get("keepdim", False)) for each in (labels.amin, labels.amax))
            return [low] * len(results) if torch.equal(low, high) else None
    except (RuntimeError, TypeError, ValueError, IndexError):  # a function that takes no labels
        pass
    return None
