"""A torch module in the form that diagnostics use: layers, and places of units with their activations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from plasticity_lab.activations.activation import Activation
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.errors import InputError
from plasticity_lab.networks.network import Design, Layer, Unit
from plasticity_lab.outside.functions import RECURRENT
from plasticity_lab.outside.layout import UNITS, has_examples, kinds, units_of
from plasticity_lab.outside.node import Graph, Node
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.run_axis import on_run_axis

LINEAR = ("linear", "matmul", "__matmul__", "__rmatmul__", "mm", "addmm")
OF_SEVERAL = RECURRENT | {"multi_head_attention_forward"}
"""Layers with several results: gradients are taken by the input of the next activation."""
CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


@dataclass(frozen=True)
class OtherLayer:
    """A layer that settings of diagnostics cannot name: its weight is not one parameter."""

    name: str


class ModuleLinear(StackedLinear):
    """A linear layer with the module's own parameters: weight (1, outputs, inputs), which has no padding."""

    @property
    def padded(self) -> int:
        """The outputs: without padding."""
        return self.outputs


class LayerCall(NamedTuple):
    """A call of a layer.  name: the layer's, with a number from the second call on. weight, bias: the names of the
    parameters that each is computed from; bias also has the parameters of further arguments.
    """

    name: str
    node: Node
    weight: tuple[str, ...]
    bias: tuple[str, ...]


class Place(NamedTuple):
    """A call of an activation between two layers.  layer: the call of the layer that its input comes from, if that
    layer produces the same units.
    """

    name: str
    node: Node
    activation: Activation
    layer: LayerCall | None


class ModuleNetwork:
    """The part of the interface of `Model` that diagnostics use, for one torch module.

    graph: a forward pass. Raises InputError for a function between two layers that may be part of an activation, and
    for an activation with units that are not known.
    """

    change = None
    """Like `Network.change`: a module does not change."""

    def __init__(self, module: nn.Module, graph: Graph) -> None:
        self.module, self.network, self.prefix = module, self, ""
        self.parameters = dict(module.named_parameters())
        answering = {id(each) for output in graph.outputs for each in output.upstream()}
        nodes = [node for node in graph.layers if id(node) in answering]
        self.layers = [*_named_layers(module, nodes)]
        _check_bent([*nodes, *(node for node in graph.activations if id(node) in answering)])
        self.places = [*self._named_places(module, graph, answering)]
        every = {id(call.node) for call in self.layers}
        self.last = [call for call in self.layers if every.isdisjoint(map(id, _behind(call.node)))]
        """The layers that no other layer follows."""
        names = {id(call.node): call.name for call in self.layers}
        units = [
            Unit(
                place.name, _produced(place), place.name if place.layer is None else place.layer.name,
                tuple(names[id(node)] for node in _next_layers(place.node) if id(node) in names), kind="channel",
            )
            for place in self.places
        ]  # fmt: skip
        outputs = {f"output{n}": call.name for n, call in enumerate(self.last)}
        first = {call.weight: call for call in reversed(self.layers)}
        """Calls with the same weight are one layer."""
        self.design = Design([cast(Layer, self._stub(call)) for call in reversed(first.values())], units, outputs)
        self.activation = self.places[0].activation if self.places else None

    @property
    def units(self) -> list[Unit]:
        """The places."""
        return list(self.design.units)

    def only(self, kinds: Sequence[type[Activation]]) -> "ModuleNetwork":
        """The same network with the places of some kinds of activations alone."""
        found = object.__new__(ModuleNetwork)
        found.__dict__ = dict(self.__dict__)
        found.places = [place for place in self.places if type(place.activation) in kinds]
        names = {place.name for place in found.places}
        found.design = Design(self.design.layers, [u for u in self.units if u.name in names], self.design.outputs)
        found.activation = found.places[0].activation
        return found

    def start(self, seeds: Any, device: torch.device) -> dict[str, Tensor]:
        """The present values of the module's parameters, by name, with a run axis of one."""
        return {name: value.detach().unsqueeze(0) for name, value in self.parameters.items()}

    def call(self, name: str) -> LayerCall | None:
        """The first call of the layer of that name, if its weight is one parameter."""
        return next((each for each in self.layers if each.name == name and len(each.weight) == 1), None)

    def owner(self, parameter: str) -> None:
        """None: there is only one environment."""
        return None

    def learned_at(self, unit: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The slopes of a PReLU."""
        place = next(each for each in self.places if each.name == unit)
        if not isinstance(place.activation, PReLU):
            return {}
        (name,) = (each for node in place.node.sources if not node.data for each in node.parameters())
        return {"slope": parameters[name]}

    def settings(self, place: Place) -> Mapping[str, Tensor]:
        """The settings of a place's activation, on a run axis of one."""
        like = next(value for value in self.parameters.values() if value.is_floating_point())
        return on_run_axis([place.activation], like.device, like.dtype)

    def _named_places(self, module: nn.Module, graph: Graph, answering: set[int]) -> Iterator[Place]:
        names, layers = _Names(module), {id(call.node): call for call in self.layers}
        for node in graph.activations:
            followed = any(each.kind == "layer" and id(each) in answering for each in _behind(node))
            z = node.sources[0]
            if id(node) not in answering or not z.behind or not followed:
                continue  # a part of the inputs or of the outputs
            name = names.new(_name_of(module, node))
            _check_units(name, node)
            assert node.call is not None
            _check_settings(name, node)
            activation = node.call.activation()
            if isinstance(activation, PReLU):
                _check_slopes(name, node)
            yield Place(name, node, activation, _layer_before(z, layers))

    def _stub(self, call: LayerCall) -> StackedLinear | StackedConv2d | OtherLayer:
        if len(call.weight) != 1 or call.node.name not in (*LINEAR, *CONVOLUTIONS):
            return OtherLayer(call.name)
        shape = self.parameters[call.weight[0]].shape
        if call.node.name in LINEAR or len(shape) < 3:
            return ModuleLinear(call.name, shape[-1], shape[0])
        return StackedConv2d(call.name, (shape[1], 1, 1), shape[0], shape[-1], "valid", 1)


class _Names:
    """Names that are given once each, also in columns: later ones get a number.  taken: names that no number makes."""

    def __init__(self, module: nn.Module) -> None:
        self.taken, self.given = {_column(name) for name, _ in module.named_modules()}, set[str]()

    def new(self, name: str) -> str:
        found, number = name, 1
        while _column(found) in self.given or (number > 1 and _column(found) in self.taken):
            number += 1
            found = f"{name}_{number}"
        self.given.add(_column(found))
        return found


def _column(name: str) -> str:
    return name.replace(".", "_")


def _named_layers(module: nn.Module, nodes: Sequence[Node]) -> Iterator[LayerCall]:
    names = _Names(module)
    for node in nodes:
        given = [(source, source.parameters()) for source in node.sources if not source.data]
        own = [names for _, names in given if names]
        # torch's layers take the weight first, then the bias.
        weight, bias = (own[0], [name for more in own[1:] for name in more]) if own else ([], [])
        if node.name in ("addmm", "baddbmm") and len(own) > 1:
            weight, bias = own[-1], own[0]
        if node.name in LINEAR[1:]:
            bias = [*bias, *_added(node)]
        yield LayerCall(names.new(_name_of(module, node, weight)), node, tuple(weight), tuple(bias))


def _added(node: Node) -> list[str]:
    """The parameters that are added to a product: its bias."""
    sums = [each for each in node.into if each.name in ("add", "__add__", "__radd__", "__iadd__", "add_")]
    return [name for each in sums for source in each.sources if not source.data for name in source.parameters()]


def _name_of(module: nn.Module, node: Node, weight: Sequence[str] = ()) -> str:
    """The path of the submodule that computes only this, or the name of its weight, or the path with the function."""
    own = module.get_submodule(node.module)
    owner = next(iter(weight), "").rpartition(".")[0]
    simple = not any(True for name, _ in own.named_children() if name != "parametrizations")
    if (
        node.module
        and simple
        and (isinstance(own, nn.Linear | nn.modules.conv._ConvNd) or not weight or owner == node.module)
    ):
        return node.module
    if len(weight) == 1:
        return weight[0].removesuffix(".weight")
    return f"{node.module}.{node.name}".lstrip(".")


def _behind(node: Node) -> Iterator[Node]:
    return (each for each in node.downstream() if each is not node)


def _next_layers(node: Node) -> list[Node]:
    """The layers that read a node without another layer in between."""
    found, queue, seen = [], [*node.into], set[int]()
    while queue:
        each = queue.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.kind == "layer":
            found.append(each)
        else:
            queue += each.into
    return found


def _layer_before(z: Node, layers: Mapping[int, LayerCall]) -> LayerCall | None:
    """The nearest layer before an activation's input, if it produces the same units."""
    for each in z.upstream(lambda node: node.data):
        if each.kind == "layer":
            same = has_examples(each.layout) and units_of(each.layout or ()) == units_of(z.layout or ())
            same = same and each.name not in OF_SEVERAL
            return layers.get(id(each)) if same else None
    return None


def _produced(place: Place) -> tuple[int, ...]:
    """The shape of one example at a place: units, and positions."""
    layout = place.node.sources[0].layout or ()
    positions = 1
    for dim in layout:
        for factor in dim:
            positions *= factor.size if factor.kind not in (UNITS, "examples") else 1
    return (units_of(layout), positions) if positions > 1 else (units_of(layout),)


def _check_bent(nodes: Sequence[Node]) -> None:
    """Raises InputError for a function of single values that may be part of an activation."""
    for node in nodes:
        for source in node.sources:
            if source.data and source.bent:
                raise InputError(
                    f"The forward pass computes {source.bent} between two layers, before {node.module or 'its'} "
                    f"{node.name}, which may be a part of an activation with units that diagnostics "
                    "would not see; call an activation of torch for it (F.relu, F.silu, F.softsign, …)."
                )


def _check_units(name: str, node: Node) -> None:
    layout, z = node.sources[0].layout, node.sources[0]
    if layout is None or not has_examples(layout) or UNITS not in kinds(layout):
        raise InputError(
            f"{name} is given values of shape {z.shape}, and it is not known which of its dimensions counts examples "
            "and which units; keep them apart from the layer to the activation, as (examples, units) or (examples, "
            "channels, height, width)."
        )


def _check_settings(name: str, node: Node) -> None:
    """Raises InputError for an activation with bounds that differ from unit to unit."""
    if node.name != "prelu" and any(prod(source.shape) > 1 for source in node.sources[1:]):
        raise InputError(f"{name} is given tensors besides its values (bounds, thresholds); it must be one function.")


def _check_slopes(name: str, node: Node) -> None:
    slopes = [source for source in node.sources if not source.data]
    layout = node.sources[0].layout or ()
    at = next((n for n, dim in enumerate(layout) if UNITS in kinds((dim,))), -1)
    if len(slopes) != 1 or slopes[0].kind != "parameter" or (slopes[0].shape != (1,) and at != 1):
        raise InputError(f"The slopes of {name} are no parameter with one number for each unit, or one for all units.")
