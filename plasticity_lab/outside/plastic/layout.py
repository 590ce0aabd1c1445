"""The layers and parameters of a torch module as the laboratory knows them, from the module and a trace of it.

Legend: I inputs and O outputs of a layer, C channels, G groups.
"""

from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from plasticity_lab.outside.plastic.origins import Normed
from plasticity_lab.outside.plastic.pieces import Piece
from plasticity_lab.outside.plastic.trace import Trace
from plasticity_lab.stacking.batch_normed import StackedBatchNormed
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.identity import StackedIdentity
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import StackedNormed, StackedRMSNormed

NORMS = {"layer": StackedNormed, "batch": StackedBatchNormed, "rms": StackedRMSNormed}


@dataclass(frozen=True)
class OtherConv:
    """A convolution with groups, another number of dimensions, or a kernel that is no square: a map of patches.

    channels: C / G. patch: numbers of a patch of one channel.
    """

    name: str
    channels: int
    patch: int
    outputs: int
    groups: int = 1

    @property
    def linear(self) -> StackedLinear:
        """The map from a patch of all channels to the outputs; weights between groups are 0."""
        return StackedLinear(self.name, self.channels * self.groups * self.patch, self.outputs)

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """First parameters, as for a linear layer with the inputs of one group."""
        rows = self.channels * self.patch
        found = StackedLinear(self.name, rows, self.outputs).start(draw, init, gain)
        own, bias = (found[f"{self.name}.{part}"][:, : self.outputs] for part in ("weight", "bias"))
        weight = np.zeros((rows * self.groups, self.linear.padded), np.float32)
        for group, columns in enumerate(np.split(np.arange(self.outputs), self.groups)):
            weight[group * rows : (group + 1) * rows, columns] = own[:, columns]
        padded = np.pad(bias, ((0, 0), (0, self.linear.padded - self.outputs)))
        return {f"{self.name}.weight": weight, f"{self.name}.bias": padded}


@dataclass(frozen=True)
class Bounded(StackedLinear):
    """A linear layer with first weights in ±bound and first biases in ±bias by default, as in torch's RNNs."""

    bound: float = 0.0
    bias: float = 0.0

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """First parameters."""
        found = super().start(draw, init, gain)
        if init == "default":
            for part, bound in (("weight", self.bound), ("bias", self.bias)):
                found[f"{self.name}.{part}"] *= bound * sqrt(self.inputs)
        return found


@dataclass(frozen=True)
class Table:
    """An embedding: a row of O numbers for each of I words."""

    name: str
    inputs: int
    outputs: int

    def start(self, draw: np.random.Generator, init: str, gain: float) -> dict[str, np.ndarray]:
        """Standard normal numbers, as nn.Embedding."""
        return {f"{self.name}.weight": draw.standard_normal((self.inputs, self.outputs)).astype(np.float32)}


@dataclass
class Layout:
    """The laboratory's view of a module.

    layers: by name, in the order of the forward pass. pieces, statistics: name of a parameter or a running statistic →
    its piece. of: id of a weight → its layer. modules: layer → its module. learned: names of an activation's
    parameters. outputs: the layers that no other layer reads. loose: names of parameters of two or more dimensions in
    no layer. parts: name of some inputs of a layer → the layer, and the first and last + 1 row of its weight. compares:
    layers that compute queries and keys.
    """

    layers: dict[str, Any] = field(default_factory=dict)
    pieces: dict[str, Piece] = field(default_factory=dict)
    statistics: dict[str, Piece] = field(default_factory=dict)
    of: dict[int, str] = field(default_factory=dict)
    modules: dict[str, nn.Module] = field(default_factory=dict)
    learned: set[str] = field(default_factory=set)
    outputs: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    parts: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    compares: tuple[str, ...] = ()

    @property
    def zeros(self) -> dict[str, int]:
        """The biases that layers lack: name → O as stored."""
        return {
            f"{name}.bias": width(layer)
            for name, layer in self.layers.items()
            if f"{name}.bias" not in self.pieces and f"{name}.weight" in self.pieces
        }


def width(layer: Any) -> int:
    """O as stored: with padding."""
    inner = getattr(layer, "layer", layer)
    linear = getattr(inner, "linear", inner)
    return getattr(linear, "padded", layer.outputs)


def layout_of(module: nn.Module, trace: Trace, trained: set[int]) -> Layout:
    """The layout of a module's parameters.  trained: ids of the parameters to include."""
    return _Builder(module, trace, trained).built()


class _Builder:
    def __init__(self, module: nn.Module, trace: Trace, trained: set[int]) -> None:
        self.trace, self.trained, self.layout = trace, trained, Layout()
        self.names = {id(value): name for name, value in module.named_parameters()}
        self.names |= {id(value): name for name, value in module.named_buffers()}
        self.owners = dict(module.named_modules())
        self.taken = set[int]()

    def built(self) -> Layout:
        """The layers of the trace, then layers that were not called, then all other parameters."""
        produced = {id(each.weight): each for each in self.trace.layers if each.weight is not None}
        for key, each in produced.items():
            assert each.weight is not None
            name = self._layer(each.weight, each.bias, each.groups, each.norm)
            if name and key not in self.trace.read_on:
                self.layout.outputs.append(name)
        for norm in self.trace.norms:
            self._norm(norm)
        for name, own in self.owners.items():
            self._module(name, own)
        for name, own in self.owners.items():
            for part, value in own.named_parameters(recurse=False):
                self._other(f"{name}.{part}" if name else part, own, value)
        return self.layout

    def _free(self, value: Any) -> bool:
        return isinstance(value, Tensor) and id(value) in self.trained and id(value) not in self.taken

    def _piece(self, name: str, value: Tensor, kind: str, *more: Any) -> None:
        self.taken.add(id(value))
        self.layout.pieces[name] = Piece(value, kind, *more)

    def _layer(self, weight: Tensor, bias: Any, groups: int, norm: Normed | None) -> str | None:
        """Adds a layer with these parameters → its name; None if its weight is not trained."""
        if not self._free(weight):
            return None
        path = self.names[id(weight)]
        name = path.removesuffix(".weight") if path != "weight" else "layer"
        layer = _layer_of(name, weight, groups)
        if norm is not None and (self._free(norm.scale) or norm.mean is not None):
            layer = NORMS[norm.kind](name, layer)
        self.layout.layers[name], self.layout.of[id(weight)] = layer, name
        self.layout.modules[name] = self.owners[path.rpartition(".")[0]]
        padded = width(layer)
        self._piece(f"{name}.weight", weight, "matrix", None, padded, groups)
        if self._free(bias):
            self._piece(f"{name}.bias", bias, "vector", None, padded)
        if norm is not None:
            self._normed(name, norm)
        return name

    def _normed(self, name: str, norm: Normed) -> None:
        """Adds the parameters and statistics of a normalisation under a layer's name."""
        for part in ("scale", "shift"):
            value = getattr(norm, part)
            if self._free(value) and value.dim() == 1:
                self._piece(f"{name}.{part}", value, "vector")
        for part in ("mean", "variance"):
            value = getattr(norm, part)
            if value is not None and id(value) not in self.taken and id(value) in self.names:
                self.taken.add(id(value))
                self.layout.statistics[f"{name}.{part}"] = Piece(value, "vector")

    def _norm(self, norm: Normed) -> None:
        """A normalisation that follows no single layer."""
        value = norm.scale if norm.scale is not None else norm.mean
        if value is None or value.dim() != 1 or id(value) not in self.names or id(value) in self.taken:
            return
        if norm.scale is not None and not self._free(value):
            return
        name = self.names[id(value)].rpartition(".")[0] or "norm"
        self.layout.layers[name] = NORMS[norm.kind](name, StackedIdentity(name, len(value)))
        self._normed(name, norm)

    def _module(self, name: str, own: nn.Module) -> None:
        """A module of a known kind."""
        if isinstance(own, nn.Linear | _ConvNd) and not isinstance(own, _ConvTransposeNd):
            if isinstance(own.weight, nn.Parameter) and self._free(own.weight):
                self._layer(own.weight, own.bias, getattr(own, "groups", 1), None)
        elif isinstance(own, nn.modules.batchnorm._BatchNorm | nn.LayerNorm | nn.GroupNorm | nn.RMSNorm):
            kind = "batch" if hasattr(own, "running_mean") else "rms" if isinstance(own, nn.RMSNorm) else "layer"
            buffers = (getattr(own, f"running_{part}", None) for part in ("mean", "var"))
            self._norm(Normed(kind, own.weight, getattr(own, "bias", None), *buffers))
        elif isinstance(own, nn.Embedding) and self._free(own.weight):
            self.layout.layers[name] = Table(name, *own.weight.shape)
            self.layout.modules[name] = own
            self._piece(f"{name}.weight", own.weight, "plain")
        elif isinstance(own, nn.MultiheadAttention) and self._free(own.in_proj_weight):
            self._attention(name, own)
        elif isinstance(own, nn.RNNBase | nn.RNNCellBase):
            self._recurrent(name, own)

    def _attention(self, name: str, own: nn.MultiheadAttention) -> None:
        """Queries, keys and values, which nn.MultiheadAttention keeps as the rows of one parameter."""
        size, bound = own.embed_dim, sqrt(6 / (4 * own.embed_dim))
        for at, part in enumerate("qkv"):
            layer = Bounded(f"{name}.{part}", size, size, bound=bound)
            rows = slice(at * size, (at + 1) * size)
            self.layout.layers[layer.name] = layer
            self._piece(f"{layer.name}.weight", own.in_proj_weight, "matrix", rows, layer.padded)
            if own.in_proj_bias is not None:
                self._piece(f"{layer.name}.bias", own.in_proj_bias, "vector", rows, layer.padded)
        self.layout.compares += (f"{name}.q", f"{name}.k")

    def _recurrent(self, name: str, own: Any) -> None:
        """The matrices of a recurrent module, for its inputs and its states."""
        bound = 1 / sqrt(own.hidden_size)
        for part, weight in list(own.named_parameters(recurse=False)):
            if part.startswith("weight_") and self._free(weight):
                outputs, inputs = weight.shape
                layer = Bounded(f"{name}.{part.removeprefix('weight_')}", inputs, outputs, 1, bound, bound)
                self.layout.layers[layer.name], self.layout.of[id(weight)] = layer, layer.name
                self._piece(f"{layer.name}.weight", weight, "matrix", None, layer.padded)
                bias: Any = getattr(own, part.replace("weight_", "bias_"), None)
                if self._free(bias):
                    self._piece(f"{layer.name}.bias", bias, "vector", None, layer.padded)

    def _other(self, name: str, own: nn.Module, value: Tensor) -> None:
        """A parameter that belongs to no layer."""
        if not self._free(value):
            return
        self._piece(name, value, "plain")
        if isinstance(own, nn.PReLU) or getattr(own, "is_our_activation", False):
            self.layout.learned.add(name)
        elif sum(size > 1 for size in value.shape) > 1:
            self.layout.loose.append(name)


def _layer_of(name: str, weight: Tensor, groups: int) -> Any:
    """One of our layers for the weight (O, I) of a linear one, or (O, C / G, ...) of a convolution."""
    outputs, channels, *kernel = weight.shape
    if not kernel:
        return StackedLinear(name, channels, outputs)
    if len(kernel) == 2 and kernel[0] == kernel[1] and groups == 1:
        return StackedConv2d(name, (channels, kernel[0], kernel[1]), outputs, kernel[0], "valid")
    return OtherConv(name, channels, prod(kernel), outputs, groups)
