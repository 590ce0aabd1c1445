"""A torch module in the form that diagnostics use: layers, places of units, and a forward pass with taps.

Legend: B examples, * the shape of one example. The run axis has one run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from plasticity_lab.activations.activation import Site
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.errors import InputError
from plasticity_lab.networks.network import Activate, Design, Layer, Unit
from plasticity_lab.outside.layers import (
    ACTIVATIONS,
    LAYERS,
    Call,
    Forward,
    activation_of,
    calls_of,
    layer_of,
    replaced,
    settings_of,
)
from plasticity_lab.stacking.run_axis import on_run_axis


class ModuleNetwork:
    """The part of the interface of `Model` that diagnostics use, for one torch module.

    x: a batch (B, *); a forward pass with it finds layers and activations. Each call of an activation module is a
    place. Raises InputError in these cases: the module has no activation module, or activations of several kinds or
    settings; it calls a layer twice, or uses one parameter at several places; it computes an activation by a function;
    or units are not the second axis of an activation's input.
    """

    change = None
    """Like `Network.change`: a module does not change."""

    def __init__(self, module: nn.Module, x: Tensor) -> None:
        self.module, self.network, self.prefix = module, self, ""
        calls = calls_of(module, x.clone())
        layers = [call for call in calls if isinstance(call.module, LAYERS)]
        if twice := sorted(name for name, count in Counter(call.name for call in layers).items() if count > 1):
            raise InputError(f"The module calls {twice[0]} more than once; diagnostics need a module for each place.")
        _check_parameters(module)
        places = [call for call in calls if isinstance(call.module, ACTIVATIONS)]
        _check_kind(places)
        self.activation = activation_of(places[0].module)
        laid = {call.name: layer_of(call.name, call.module, call.shape, len(x)) for call in layers}
        self.sites = [call.name for call in places]
        """The activation modules, in the order of their calls."""
        units = _units(calls, len(x))
        outputs = {"output": layers[-1].name}
        self.design = Design(cast(Sequence[Layer], list(laid.values())), units, outputs)

    @property
    def units(self) -> list[Unit]:
        """One place for each call of an activation."""
        return list(self.design.units)

    def start(self, seeds: Any, device: torch.device) -> dict[str, Tensor]:
        """The present values of the module's parameters, by name."""
        return self.parameters()

    def parameters(self) -> dict[str, Tensor]:
        """The module's parameters, with a run axis of one."""
        return {name: value.detach().unsqueeze(0) for name, value in self.module.named_parameters()}

    def owner(self, parameter: str) -> None:
        """None: there is only one environment."""
        return None

    def learned_at(self, unit: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The slopes of a PReLU."""
        site = self.sites[[each.name for each in self.design.units].index(unit)]
        return {"slope": parameters[f"{site}.weight"]} if isinstance(self.activation, PReLU) else {}

    def settings(self) -> dict[str, Mapping[str, Tensor]]:
        """The settings in the form of `View.settings`."""
        like = next(self.module.parameters())
        return {"activation": on_run_axis([self.activation], like.device, like.dtype)}

    def forward_pass(
        self, parameters: Mapping[str, Tensor], x: Tensor, before: dict[str, Tensor] | None = None
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The outputs and the activations by place, (1, B, *). If `before` is given, writes the activations' inputs
        into it.
        """
        hidden: dict[str, Tensor] = {}

        def activate(site: int, z: Tensor, by: Mapping[str, Tensor] | None = None) -> Tensor:
            assert by is None, "a module has no frozen parameters"
            unit, shape = self.units[site].name, self.settings()["activation"]
            hidden[unit] = self.activation(z, Site(shape, self.learned_at(unit, parameters)))
            if before is not None:
                before[unit] = z
            return hidden[unit]

        return self.network.forward(self.design, parameters, x, activate, ""), hidden

    def forward(self, *given: Any, **more: Any) -> Any:
        """Like `Model.forward` if a view calls it; like `Network.forward` if the first argument is a `Design`."""
        if isinstance(given[0], Design):
            return self._through(*given)
        parameters, _, x = given[:3]
        return self.forward_pass(parameters, x, more.get("before"))

    def _through(
        self, design: Design, parameters: Mapping[str, Tensor], x: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """The module's own forward pass, computed with the design's layers and the activation.

        Raises InputError if it calls other activations than at first.
        """
        there = list[str]()

        # Layers and activations are given copies, and give some: the module may go on to change a value in place.
        def layer(own: Layer) -> Forward:
            return lambda given: own(parameters, given.clone().unsqueeze(0))[0].clone()

        def place(name: str) -> Forward:
            in_place = getattr(self.module.get_submodule(name), "inplace", False)

            def activated(given: Tensor) -> Tensor:
                there.append(name)
                if there != self.sites[: len(there)]:
                    raise InputError(f"The module's calls of activations change: {name} is not called as at first.")
                h = activate(len(there) - 1, given.clone().unsqueeze(0))[0]
                return given.copy_(h) if in_place else h.clone()  # in place: a later read of its input sees h

            return activated

        forwards = {each.name: layer(each) for each in design.layers} | {name: place(name) for name in self.sites}
        own = {name: value[0] for name, value in parameters.items()}
        with replaced(self.module, forwards):
            return {"output": torch.func.functional_call(self.module, own, (x[0].clone(),)).unsqueeze(0)}


def _check_parameters(module: nn.Module) -> None:
    """Raises InputError if two modules share a parameter: its gradient is then a sum over both."""
    owners: dict[int, list[str]] = {}
    for name, own in module.named_modules():
        for short, value in own.named_parameters(recurse=False):
            owners.setdefault(id(value), []).append(f"{name}.{short}")
    if shared := next((names for names in owners.values() if len(names) > 1), None):
        raise InputError(f"{' and '.join(shared)} are one parameter; diagnostics need one for each place.")


def _check_kind(places: Sequence[Call]) -> None:
    """Raises InputError unless there is an activation, and all are of one kind with the same settings."""
    kinds = sorted({type(call.module).__name__ for call in places})
    if len(kinds) != 1:
        known = ", ".join(kind.__name__ for kind in ACTIVATIONS)
        found = f"has several kinds of activations ({', '.join(kinds)})" if kinds else "has no activation"
        raise InputError(f"The module {found} among its modules; it must have one kind, of {known}.")
    first = places[0]
    for call in places:
        if settings_of(call.module) != settings_of(first.module):
            raise InputError(
                f"{first.name} is {first.module} and {call.name} is {call.module}; diagnostics need activations with "
                "the same settings at all places."
            )


def _units(calls: Sequence[Call], examples: int) -> list[Unit]:
    """A place for each call of an activation, named as its module; later calls of one module are numbered.

    Raises InputError if the units are not known to be the second axis of the activation's input.
    """
    units, named = list[Unit](), {call.name for call in calls}
    for at, (name, own, shape) in enumerate(calls):
        if not isinstance(own, ACTIVATIONS):
            continue
        before = [call for call in calls[:at] if isinstance(call.module, LAYERS)]
        after = [call for call in calls[at:] if isinstance(call.module, LAYERS)]
        if not before:
            raise InputError(f"There is no known linear layer or convolution before {name}.")
        last = before[-1]
        if "weight" not in dict(last.module.named_parameters(recurse=False)):
            raise InputError(
                f"The weight of {last.name} is computed at each call (weight_norm, pruning); measure a copy "
                "that has it as a parameter, by torch.nn.utils.parametrize.remove_parametrizations or prune.remove."
            )
        units_last = isinstance(last.module, nn.Linear) and len(last.shape) > 2
        if shape[0] != examples or len(shape) not in (2, 4) or (len(shape) == 4 and units_last):
            raise InputError(
                f"{name} is given values of shape {shape} for {examples} examples; diagnostics need (examples, units), "
                "or (examples, channels, height, width) behind a convolution."
            )
        unit, number = name, 1
        while any(unit == each.name for each in units) or (number > 1 and unit in named):
            number += 1
            unit = f"{name}_{number}"
        kind = "channel" if len(shape) == 4 else "unit"
        units.append(Unit(unit, shape[1:], last.name, ((after or before[-1:])[0].name,), kind=kind))
    return units
