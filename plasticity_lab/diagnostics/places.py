"""What diagnostics of single places have in common: a column for each, and values laid out unit by unit.

Legend: B examples, V values (of channels: maps) that a place passes on, N units, * the pixels of a map, R = B·*.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


def at(name: str, place: str | None) -> str:
    """What a number is called at a place; None: of the whole network."""
    return name if place is None else f"{name}_{place}"


def columns_at(
    diagnostic: Diagnostic, units: Sequence[Unit], name: str, title: str, unit: str = "", **more: Any
) -> list[Column]:
    """Columns of one number: of the whole network, and of each place.  unit and more: as `Measure` has them."""
    titles = {None: title, **{each.name: f"{title}, {each.name}" for each in units}}
    return [diagnostic.column(at(name, place), of, unit, **more) for place, of in titles.items()]


def in_rows(own: Tensor) -> Tensor:
    """One run's values (B, V, *) → (R, V), contiguous: a row for each example and pixel."""
    return own.movedim(1, -1).reshape(-1, own.shape[1]).contiguous()


def units_of(values: Tensor, unit: Unit) -> Tensor:
    """(..., V) → (..., values of a unit, N).  Where two units make one value, N is V."""
    produced = min(unit.produced[0], values.shape[-1])
    return values.unflatten(-1, (-1, produced))


def added_up(values: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, one after the other.

    A sum over a stack of them would take another order for one run than for several.
    """
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def run_by_run(of: Callable[..., Tensor | float], *values: Tensor) -> Tensor:
    """What a function makes of each run's own values, (K,) or (K, ...): the same bits whatever the pack."""
    found = [of(*own) for own in zip(*(value.unbind() for value in values), strict=True)]
    return torch.stack([torch.as_tensor(each, device=values[0].device) for each in found])
