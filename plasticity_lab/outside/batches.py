"""The probe: the first examples of a data loader's batches, as a module's inputs and a loss's targets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from plasticity_lab.errors import InputError
from plasticity_lab.outside.calls import Inputs
from plasticity_lab.outside.graph import tensors_of

TARGETS = ("labels", "label", "targets", "target", "y")
"""Keys of a batch's targets, if the batch is a mapping and no key is named."""
SHAPES = (
    "The loader must give pairs (inputs, targets), or (input, further input, …, targets), or a mapping of inputs with "
    "its targets under a key, all of them tensors with the examples first"
)


class Probe(NamedTuple):
    """inputs: the module's. targets: the loss's. examples: their number."""

    inputs: Inputs
    targets: Any
    examples: int


def probe_of(loader: Iterable[Any], most: int, key: str | None, like: Tensor) -> Probe:
    """The first examples, at most that many, on the device and with the floats of `like`.

    key: the targets' key in batches that are mappings. Raises InputError for batches of another form.
    """
    parts: list[tuple[Any, int]] = []
    for batch in loader:
        parts.append(_checked(_apart(batch, key)))
        if sum(size for _, size in parts) >= most:
            break
    there = sum(size for _, size in parts)
    if min(there, most) < 2:
        raise InputError(f"The loader gives {there} examples, and up to {most} are taken; at least 2 are needed.")
    examples = min(there, most)
    inputs, targets = _joined([part for part, _ in parts], examples)
    return Probe(_moved(inputs, like, floats=True), _moved(targets, like, floats=False), examples)


def _apart(batch: Any, key: str | None) -> tuple[Inputs, Any]:
    """The inputs and the targets of a batch."""
    if isinstance(batch, Mapping):
        found = [key] if key is not None else [name for name in TARGETS if name in batch]
        if len(found) != 1 or found[0] not in batch:
            raise InputError(
                f"The batches have the keys {', '.join(map(str, batch))}; name the one of the targets, as "
                'targets="labels". All others are given to the module by name.'
            )
        return ((), {name: value for name, value in batch.items() if name != found[0]}), batch[found[0]]
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise InputError(f"The loader gives a {type(batch).__name__}. {SHAPES}.")
    *inputs, targets = batch
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        return ((), inputs[0]), targets
    if len(inputs) == 1 and isinstance(inputs[0], tuple | list):
        return (tuple(inputs[0]), {}), targets
    return (tuple(inputs), {}), targets


def _checked(part: tuple[Inputs, Any]) -> tuple[tuple[Inputs, Any], int]:
    """The part, and its number of examples."""
    (args, named), targets = part
    flat, more = [*_leaves((args, named))], [*_leaves(targets)]
    if not flat or not more or not all(isinstance(each, Tensor) and each.dim() for each in [*flat, *more]):
        raise InputError(f"{SHAPES}; here some part is none.")
    size = len(flat[0])
    for each in flat:
        if len(each) != size:
            raise InputError(
                f"The loader gives inputs for {size} and for {len(each)} examples in one batch; all inputs must have "
                "the examples first: put a module that takes them otherwise into one that rearranges them."
            )
    for each in more:
        if len(each) != size:
            raise InputError(f"The loader gives {size} inputs with {len(each)} targets; there must be one for each.")
    return part, size


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [] if value is None or isinstance(value, bool | int | float | str) else [value]


def _joined(values: Sequence[Any], examples: int) -> Any:
    """Batches as one, cut to the first examples."""
    first = values[0]
    if isinstance(first, Tensor):
        if len({tuple(each.shape[1:]) for each in values}) > 1:
            shapes = sorted({tuple(each.shape[1:]) for each in values})
            raise InputError(
                f"The loader's batches have examples of the shapes {' and '.join(map(str, shapes))}; give batches that "
                "are padded to one shape, or one batch alone."
            )
        return torch.cat([each.detach() for each in values])[:examples]
    if isinstance(first, Mapping):
        return {name: _joined([each[name] for each in values], examples) for name in first}
    if isinstance(first, tuple | list):
        return tuple(_joined(each, examples) for each in zip(*values, strict=True))
    return first


def _moved(value: Any, like: Tensor, floats: bool) -> Any:
    if isinstance(value, Tensor):
        return value.to(like.device, like.dtype if floats and value.is_floating_point() else None)
    if isinstance(value, Mapping):
        return {name: _moved(each, like, floats) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_moved(each, like, floats) for each in value)
    return value


def first_tensor(inputs: Inputs) -> Tensor:
    """The first tensor among the inputs."""
    return next(tensors_of(inputs))
