"""Passes of a module over the probe: its losses, and the values and gradients at layers and activations.

Legend: B examples, U units, R positions of an example. The run axis has one run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from plasticity_lab.diagnostics.sensitivities import OfLayer, Sensitivities
from plasticity_lab.diagnostics.view import Passed
from plasticity_lab.errors import InputError
from plasticity_lab.networks.network import Layer
from plasticity_lab.outside.calls import Calls, Function, Inputs, Named, computed, copied
from plasticity_lab.outside.functions import ActivationCall
from plasticity_lab.outside.graph import tensors_of
from plasticity_lab.outside.layout import arranged
from plasticity_lab.outside.network import LayerCall, ModuleNetwork, Place
from plasticity_lab.outside.node import Graph

LossOf = Callable[[Any, Any], Tensor]


class SameCalls(Calls):
    """Checks that the forward pass calls the layers and activations of the recorded one."""

    def __init__(self, graph: Graph, copies: bool, written: Sequence[str]) -> None:
        super().__init__(copies, written)
        self.graph = graph

    def _next(self, name: str) -> int:
        number, expected = super()._next(name), self.graph.calls
        if number >= len(expected) or expected[number] != name:
            raise InputError(
                f"The module's calls of layers and activations change from pass to pass: {name} is not called as at "
                "first. Measure one way of its forward pass at a time."
            )
        return number


class Kept(NamedTuple):
    """The values at a layer or an activation in one pass.  given: the input. place: zeros added to the output, so that
    the gradient by it can be taken.
    """

    given: Tensor
    place: Tensor


class Tapped(SameCalls):
    """Keeps values at places and at layers.  before, hidden: (B, U, R), by place. layers, units: by name. inputs: by
    place, if its gradient is taken by its input.
    """

    def __init__(self, passes: "Passes", examples: int, taps: bool) -> None:
        super().__init__(passes.graph, passes.copies, passes.written)
        self.places = {place.node.number: place for place in passes.network.places}
        self.calls = {call.node.number: call for call in passes.network.layers}
        self.examples, self.taps = examples, taps
        self.before, self.hidden = dict[str, Tensor](), dict[str, Tensor]()
        self.layers, self.units, self.inputs = dict[str, Kept](), dict[str, Tensor](), dict[str, Tensor]()

    def activated(self, number: int, call: ActivationCall) -> Tensor:
        """Keeps the values of a place."""
        place = self.places.get(number)
        if place is None:
            return super().activated(number, call)
        z, layout = call.z.detach().clone(), place.node.sources[0].layout or ()
        self.before[place.name] = arranged(z, layout, self.examples)
        if place.layer is None and self.taps:
            self.inputs[place.name] = torch.zeros_like(z, requires_grad=True)
            h = call.compute(call.z.clone() + self.inputs[place.name])
        else:
            h = self.values(call)
        self.hidden[place.name] = arranged(h.detach().clone(), place.node.layout or (), self.examples)
        if not self.taps:
            return h
        self.units[place.name] = torch.zeros_like(h, requires_grad=True)
        return h + self.units[place.name]

    def layer(self, number: int, name: str, func: Function, args: Any, kwargs: Named) -> Any:
        """Keeps the input of a layer, and taps its output."""
        call = self.calls.get(number)
        if call is None:
            return super().layer(number, name, func, args, kwargs)
        at = next(n for n, source in enumerate(call.node.sources) if source.data)
        given = [*tensors_of((args, kwargs))][at].detach().clone()
        found = super().layer(number, name, func, args, kwargs)
        if not isinstance(found, Tensor) or not self.taps:
            self.layers[call.name] = Kept(given, torch.empty(0))
            return found
        self.layers[call.name] = Kept(given, torch.zeros_like(found, requires_grad=True))
        return found + self.layers[call.name].place


@dataclass
class Passes:
    """A module over its probe.

    loss: (outputs, targets) → the loss of each example, (B,). buffers: by name. written, copies: see `Calls`.
    """

    module: nn.Module
    network: ModuleNetwork
    graph: Graph
    inputs: Inputs
    targets: Any
    loss: LossOf
    examples: int
    buffers: Mapping[str, Tensor]
    written: Sequence[str] = ()
    copies: bool = False

    def losses(self, parameters: Mapping[str, Tensor], batch: Any = None) -> Tensor:
        """The loss of each example, (1, B), by parameters (1, ...)."""
        own = {name: value[0] for name, value in parameters.items()}
        return self.one(own, self.inputs, self.targets).unsqueeze(0)

    def one(self, parameters: Mapping[str, Tensor], inputs: Inputs, targets: Any) -> Tensor:
        """The loss of other examples, (B,), by parameters without a run axis."""
        return self._losses(parameters, SameCalls(self.graph, self.copies, self.written), inputs, targets)

    def _losses(self, parameters: Mapping[str, Tensor], mode: Calls, inputs: Inputs, targets: Any) -> Tensor:
        outputs = computed(self.module, {**self.buffers, **parameters}, copied(inputs), mode)
        return self.loss(outputs, targets)

    def forward(self, parameters: Mapping[str, Tensor], inputs: Inputs, examples: int) -> tuple[Passed, Tapped]:
        """The values at all places, with a run axis; and layers' inputs."""
        mode = Tapped(self, examples, taps=False)
        own = {name: value[0].detach() for name, value in parameters.items()}
        with torch.no_grad():
            outputs = computed(self.module, {**self.buffers, **own}, copied(inputs), mode)
        made = {f"output{n}": each.detach().unsqueeze(0) for n, each in enumerate(tensors_of(outputs))}
        return Passed(made, _on_run_axis(mode.before), _on_run_axis(mode.hidden)), mode

    def gradients(self, parameters: Mapping[str, Tensor]) -> "Gradients":
        """The gradients of each example's loss by the outputs of layers and units."""
        mode = Tapped(self, self.examples, taps=True)
        own = {name: value[0].detach() for name, value in parameters.items()}
        with torch.enable_grad():
            losses = self._losses(own, mode, self.inputs, self.targets)
        taps = {name: kept.place for name, kept in mode.layers.items() if kept.place.requires_grad}
        places = [*taps.values(), *mode.units.values(), *mode.inputs.values()]
        found = torch.autograd.grad(losses.sum(), places, allow_unused=True, materialize_grads=True)
        values = iter(found)
        deltas = dict(zip(taps, values, strict=False))
        units = dict(zip(mode.units, values, strict=False))
        inputs = dict(zip(mode.inputs, values, strict=False))
        given = {name: kept.given for name, kept in mode.layers.items()}
        return Gradients(self.network, given, deltas, units, inputs, losses.detach(), self.examples)


@dataclass
class Gradients:
    """given, deltas: input of each layer's call, and gradient by its output. units, inputs: gradient by the output of a
    place, and by its input. losses (B,).
    """

    network: ModuleNetwork
    given: Mapping[str, Tensor]
    deltas: Mapping[str, Tensor]
    units: Mapping[str, Tensor]
    inputs: Mapping[str, Tensor]
    losses: Tensor
    examples: int

    def sensitivities(self) -> Sensitivities:
        """In the form of the diagnostics: units (1, B, U, R), and layers under the names that units have for them."""
        layers, units = dict[str, OfLayer](), dict[str, Tensor]()
        for place in self.network.places:
            units[place.name] = self._arranged(self.units[place.name], place, of_input=False)
            name = place.name if place.layer is None else place.layer.name
            delta = self._of_layer(place.layer) if place.layer else self._arranged(self.inputs[name], place, True)
            layers[name] = OfLayer(_no_layer(name), delta, delta)
        return Sensitivities(layers, units)

    def _arranged(self, value: Tensor, place: Place, of_input: bool) -> Tensor:
        node = place.node.sources[0] if of_input else place.node
        return arranged(value, node.layout or (), self.examples).unsqueeze(0)

    def _of_layer(self, call: LayerCall) -> Tensor:
        return arranged(self.deltas[call.name], call.node.layout or (), self.examples).unsqueeze(0)


def _on_run_axis(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.unsqueeze(0) for name, value in values.items()}


def _no_layer(name: str) -> Layer:
    """Nothing reads the layer of a place in `Sensitivities`."""
    return name  # pyright: ignore[reportReturnType]


def examples_of(value: Any, at: slice | Sequence[int]) -> Any:
    """Some examples of tensors in tuples, lists and dicts: the first axis of each tensor."""
    if isinstance(value, Tensor):
        return value[at]
    if isinstance(value, Mapping):
        return {name: examples_of(each, at) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(examples_of(each, at) for each in value)
    return value
