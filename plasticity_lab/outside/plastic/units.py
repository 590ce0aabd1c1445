"""The places of a module's units, from a trace: units that can be reset, units that are left alone, and refusals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from torch import Tensor

from plasticity_lab.errors import InputError
from plasticity_lab.networks.network import Unit
from plasticity_lab.outside.plastic.layout import Layout
from plasticity_lab.outside.plastic.origins import Activated
from plasticity_lab.outside.plastic.trace import Trace

ASKED = "it is in `leave`"
FROZEN = "its layer is not trained here"
SUM = "its input or its values are used elsewhere too, as in a skip connection"


@dataclass
class Places:
    """units: in the order of the forward pass. calls: name of a place → the number of its activation among all calls.

    axes: name → the axis of the units in the activation's output. expansion: values passed on for each unit. alone:
    places that are left alone, and why. refused: places that cannot be reset, and why. unfollowed: as in `Trace`.
    """

    units: list[Unit] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    axes: dict[str, int] = field(default_factory=dict)
    expansion: Fraction = Fraction(1)
    alone: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unfollowed: str = ""

    def check(self, intervention: str) -> None:
        """Raises InputError if units cannot be reset, or if no units are found."""
        if self.unfollowed:
            raise InputError(
                f"{intervention} cannot follow the values of units through {self.unfollowed} (TorchScript, or an "
                "autograd.Function); replace it by functions of torch."
            )
        for name, why in self.refused.items():
            raise InputError(
                f"{intervention} cannot reset the units of {name}: {why}; leave them alone by leave=['{name}']."
            )
        if all(unit.is_sum for unit in self.units):
            left = "".join(f"; {name}: {why}" for name, why in self.alone.items())
            raise InputError(
                f"{intervention} found no units to reset: it needs a linear layer or convolution, an activation, and "
                f"another such layer in the forward pass{left}."
            )


def places_of(
    trace: Trace, layout: Layout, leave: Collection[str], names: Mapping[int, str], parted: bool = True
) -> Places:
    """The places of a traced module.  leave: names of modules and places that are left alone. names: id of a parameter
    → its name. parted: whether a layer that joins values counts with each place's inputs alone.

    Raises InputError if activations pass on different numbers of values for each unit.
    """
    found, expansions = Places(unfollowed=trace.unfollowed), set[Fraction]()
    for place in trace.places:
        name, layer = _named(place, names, {*found.calls, *found.alone, *found.refused}), _layer(place, layout)
        why = _objection(place, trace, layout)
        if not (place.outgoing or why or place.is_sum):
            continue  # the activation of an output
        left = any(f"{name}.".startswith(f"{each}.") for each in leave)
        frozen = place.of is not None and place.of.weight is not None and layer is None
        if left or place.is_sum or frozen:
            found.alone[name] = ASKED if left else FROZEN if frozen else SUM
        elif why:
            found.refused[name] = why
        if layer is None or place.of is None:
            continue
        expansions.add(Fraction(place.passed, place.of.units))
        found.units.append(_unit(name, layer, place, trace.hidden[place.number], layout, left or bool(why), parted))
        found.calls[name], found.axes[name] = place.number, place.axis
    placed = {id(place.of) for place in trace.places}
    for produced in trace.layers:
        layer = None if produced.weight is None else layout.of.get(id(produced.weight))
        if layer is not None and produced.reason and id(produced) not in placed:
            found.alone.setdefault(layer, produced.reason)
    if len(expansions) > 1:
        numbers = " and ".join(str(each) for each in sorted(expansions))
        raise InputError(f"The activations pass on {numbers} values for each unit; they must pass on the same number.")
    found.expansion = expansions.pop() if expansions else Fraction(1)
    return found


def _layer(place: Activated, layout: Layout) -> str | None:
    """The layer before a place, if it is trained."""
    return None if place.of is None or place.of.weight is None else layout.of.get(id(place.of.weight))


def _named(place: Activated, parameters: Mapping[int, str], names: Collection[str]) -> str:
    """The name of a place, which no other has: its layer's, or its function's."""
    weight = None if place.of is None or place.of.weight is None else parameters[id(place.of.weight)]
    layer = None if weight is None else weight.removesuffix(".weight") if weight != "weight" else "layer"
    stem = f"{place.function}_{place.number}" if layer is None else f"{layer}.sum" if place.is_sum else layer
    name, number = stem, 1
    while name in names:
        number += 1
        name = f"{stem}{number}"
    return name


def _objection(place: Activated, trace: Trace, layout: Layout) -> str:
    """The reason why the units of a place cannot be reset; "" if they can."""
    if place.reason or place.of is None or place.of.weight is None:
        return place.reason or "no linear layer or convolution is known before it"
    for weight in (place.of.weight, *(weight for weight, *_ in place.outgoing)):
        if id(weight) not in layout.of:
            return "a layer that reads its values is not trained here"
        if trace.reads[id(weight)] > 1:
            return f"the weight of {layout.of[id(weight)]} is used more than once in a forward pass"
    return ""


def _unit(name: str, layer: str, place: Activated, h: Tensor, layout: Layout, left: bool, parted: bool) -> Unit:
    assert place.of is not None
    outgoing = tuple(
        dict.fromkeys(_reader(layout, parted, *each) for each in place.outgoing if id(each[0]) in layout.of)
    )
    rest = h.movedim(place.axis, min(1, h.dim() - 1)).shape[2:]
    kind: Literal["unit", "channel"] = "channel" if rest and place.axis == 1 else "unit"
    return Unit(name, (place.of.units, *rest), layer, outgoing, kind, is_sum=place.is_sum or left)


def _reader(layout: Layout, parted: bool, weight: Tensor, first: int, behind: int) -> str:
    """The name of a layer that reads some inputs, or of these inputs if it has others, too."""
    layer, pixels = layout.of[id(weight)], weight[0, 0].numel()
    inputs = layout.pieces[f"{layer}.weight"].groups * weight.shape[1]
    if (first, behind) == (0, inputs) or not parted:
        return layer
    name = f"{layer}[{first}:{behind}]"
    layout.parts[name] = layer, first * pixels, behind * pixels
    return name
