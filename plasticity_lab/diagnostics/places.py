"""Places and blocks of a network: columns of places, values of units, and parameters that a setting names.

Legend: K runs, B examples, V values (of channels: maps) of a place, N units, * the pixels of a map, R rows (B·*).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.diagnostics.view import View
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import linear_of

AUTO, ALL = "auto", "all"
SHARE: Mapping[str, Any] = {"scale": 100.0, "places": 2, "better": "less"}
"""The display of columns of shares: percentages, smaller is better."""


class UnitShares(Diagnostic):
    """The share of units with a property, in the whole network and in each place, counted in whole numbers.

    A subclass says `named`, the `values` of all places, and which units of a place have the property (`marked`).
    """

    named: ClassVar[tuple[str, str, str]]
    """Name, title and unit of the column of the whole network."""

    def values(self, view: View) -> Mapping[str, Tensor]:
        """The values that the property is judged by, by unit name, (K, ...)."""
        raise NotImplementedError

    def marked(self, own: Tensor, unit: Unit) -> Tensor:
        """The values of one run at a place → (N,) bool."""
        raise NotImplementedError

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Columns of the whole network, and of each place."""
        return columns_at(self, units, *self.named, **SHARE)

    def look(self, view: View) -> dict[str, Tensor]:
        """The shares, (K,) each."""
        values = self.values(view)
        marked = {unit.name: run_by_run(lambda own, at=unit: self.marked(own, at), values[unit.name])
                  for unit in view.units}  # fmt: skip
        whole = torch.cat(list(marked.values()), dim=1)
        return {
            at(self.named[0], place): units_KN.sum(dim=1).double() / units_KN.shape[1]
            for place, units_KN in {None: whole, **marked}.items()
        }


def at(name: str, place: str | None) -> str:
    """The name of a column at a place; None: the column of the whole network."""
    return name if place is None else f"{name}_{place}"


def columns_at(
    diagnostic: Diagnostic, units: Sequence[Unit], name: str, title: str, unit: str = "", **more: Any
) -> list[Column]:
    """Columns of one number for the whole network and for each place.  unit and more: see `Measure`."""
    titles = {None: title, **{each.name: f"{title}, {each.name}" for each in units}}
    return [diagnostic.column(at(name, place), of, unit, **more) for place, of in titles.items()]


def in_rows(own: Tensor) -> Tensor:
    """The values of one run (B, V, *) → (R, V), contiguous: a row for each example and pixel."""
    return own.movedim(1, -1).reshape(-1, own.shape[1]).contiguous()


def units_of(values: Tensor, unit: Unit) -> Tensor:
    """(..., V) → (..., values of a unit, N).  If two units make one value, N is V."""
    produced = min(unit.produced[0], values.shape[-1])
    return values.unflatten(-1, (-1, produced))


def added_up(values: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, one after the other.

    The sum over a stack of them would have another order for one run than for several.
    """
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def run_by_run(of: Callable[..., Tensor | float], *values: Tensor) -> Tensor:
    """A function of each run's own values, (K,) or (K, ...): the same bits in any pack."""
    results = [of(*own) for own in zip(*(value.unbind() for value in values), strict=True)]
    return torch.stack([torch.as_tensor(each, device=values[0].device) for each in results])


def layers_of(model: Model) -> list[str]:
    """The names of its layers, in the order of the forward pass."""
    return [layer.name for layer in model.design.layers]


def with_gram(model: Model) -> list[str]:
    """The names of the linear layers and convolutions without noise: `sensitivities.grams` has a matrix for each."""
    return [
        layer.name for layer in map(linear_of, model.design.layers) if isinstance(layer, StackedLinear | StackedConv2d)
    ]


def auto_layer(model: Model) -> str:
    """The second linear layer that all environments use, which leads from fc1 to fc2 (Appendix B), or the only one."""
    linear = [
        layer.name
        for layer in model.design.layers
        if isinstance(linear_of(layer), StackedLinear) and model.owner(f"{layer.name}.weight") is None
    ]
    return linear[min(1, len(linear) - 1)] if linear else layers_of(model)[0]


def check_named(setting: str, named: str, known: Sequence[str]) -> None:
    """Raises ConfigError if a block is none of those known."""
    if named not in known:
        raise ConfigError(f"{setting} is {named}; here it must be one of {', '.join(known)}.")
