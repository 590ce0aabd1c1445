"""A torch module in the form of the laboratory's `Model`, as far as interventions use it.

Legend: B examples, * any shape. The run axis has one run.
"""

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from plasticity_lab.errors import InputError
from plasticity_lab.networks.network import Design, Layer
from plasticity_lab.outside.plastic.layout import Layout
from plasticity_lab.outside.plastic.pieces import Copies, Piece, unstacked
from plasticity_lab.outside.plastic.units import Places
from plasticity_lab.outside.plastic.watch import Watch
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.linear import StackedLinear

Init = str | Callable[[nn.Module, str], None]
"""A laboratory's choice of first weights, or a function that gives a copy of a module, with that name, new ones."""
LOGITS = "logits"


class Given(NamedTuple):
    """The arguments of a forward pass."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class PartedDesign(Design):
    """A design with layers of some inputs of others, which are not among its layers.  parts: by name."""

    parts: Mapping[str, Layer]

    def layer(self, name: str) -> Layer:
        """The layer, or the part of one, with that name."""
        return self.parts[name] if name in self.parts else super().layer(name)


def _parts(layout: Layout) -> dict[str, Any]:
    return {
        name: StackedLinear(name, behind - first, layout.layers[layer].outputs)
        for name, (layer, first, behind) in layout.parts.items()
    }


class OutsideModel:
    """The part of the interface of `Model` that interventions use.

    birth: the values at the beginning, by torch's name; {} if nothing reads them. init, gain: for fresh weights.
    """

    prefix = ""
    switches: frozenset[str] = frozenset()
    by_example = False
    """As in `Model`: a module has other layers than the laboratory's."""

    def __init__(
        self, module: nn.Module, layout: Layout, places: Places, overwritten: set[int], init: Init, gain: float
    ) -> None:
        self.module, self.layout, self.places = module, layout, places
        self._overwritten, self._init, self._gain = overwritten, init, gain
        self.birth: dict[str, Tensor] = {}
        inner = [layer for name, layer in layout.layers.items() if name not in layout.outputs]
        layers = cast(Sequence[Layer], [*inner, *(layout.layers[name] for name in layout.outputs)])
        outputs = {name: name for name in layout.outputs}
        # All other layers count as an encoder, so that only output layers are known to read the features.
        self.design = PartedDesign(layers, places.units, outputs, encoded=(len(inner), 0))
        object.__setattr__(self.design, "parts", _parts(layout))
        self.network = type(type(module).__name__, (SimpleNamespace,), {})(compares=layout.compares, change=None)
        self.activation = SimpleNamespace(expansion=places.expansion)
        self.learned_by_activation = frozenset(layout.learned)
        self.statistics = {name: np.zeros(0) for name in layout.statistics}
        self.names = {id(value): name for name, value in (*module.named_parameters(), *module.named_buffers())}
        self.example: tuple[int, ...] | None = None
        """The shape of one example of a batch that an intervention gives as rows."""

    @property
    def units(self) -> Sequence[Any]:
        """The places of units."""
        return self.design.units

    @property
    def pieces(self) -> dict[str, Piece]:
        """The pieces of parameters and running statistics."""
        return {**self.layout.pieces, **self.layout.statistics}

    def start(self, seeds: Sequence[int], device: torch.device, *position: int) -> dict[str, Tensor]:
        """The parameters and statistics at the beginning; at a position, layers are drawn again."""
        first = Copies(self.pieces, lambda value: self.birth.get(self.names[id(value)]))
        found = {name: first[name] for name in first}
        for layer in self.design.layers if position else ():
            draw = host_stream(seeds[0], "weights", *position, layer.name)
            fresh = self.start_of(layer, 0, draw)
            found |= {name: torch.from_numpy(value).unsqueeze(0).to(device) for name, value in fresh.items()}
        return found

    def start_of(self, layer: Any, run: int, draw: np.random.Generator) -> dict[str, np.ndarray]:
        """First parameters of one layer, drawn from `draw`; those that the module lacks are left out."""
        if callable(self._init):
            fresh = layer.start(draw, "default", 1.0) | self._by_function(layer, draw, self._init)
        else:
            fresh = layer.start(draw, self._init, 1.0 if layer.name in self.layout.outputs else self._gain)
        return {name: value for name, value in fresh.items() if name in self.layout.pieces}

    def forward(
        self, parameters: Mapping[str, Tensor], shape: Any, x: Any, uniforms: None = None, body: None = None
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The outputs and activations in evaluation mode.  x: `Given`, or rows (1, B, D)."""
        if isinstance(x, Tensor):
            x = Given((x[0].reshape(-1, *(self.example or x.shape[2:])),), {})
        watch = Watch(self._overwritten)
        own = unstacked(self.pieces, parameters, self.names)
        with evaluating(self.module), watch:
            made = torch.func.functional_call(self.module, own, x.args, dict(x.kwargs))
        return named_outputs(made), self.hidden(watch.hidden)

    def hidden(self, activations: Sequence[Tensor]) -> dict[str, Tensor]:
        """The activations by place, (1, B, *).  activations: the outputs of all calls in a pass."""
        return {
            name: units_first(activations[number], self.places.axes[name])
            for name, number in self.places.calls.items()
            if number < len(activations)
        }

    def learned(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The entries without running statistics."""
        return {name: value for name, value in values.items() if name not in self.statistics}

    def _by_function(
        self, layer: Any, draw: np.random.Generator, init: Callable[[nn.Module, str], None]
    ) -> dict[str, np.ndarray]:
        """First weights and biases by a function of the user, with torch's generator seeded for it."""
        own = self.layout.modules.get(layer.name)
        if own is None:
            return {}
        devices = [next(own.parameters()).device.index] if next(own.parameters()).is_cuda else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(int(draw.integers(2**62)))  # noqa: TID251 (the user's function draws from it; put back)
            fresh = copy.deepcopy(own)
            with torch.no_grad():
                init(fresh, layer.name)
        made = dict(zip(map(id, own.parameters()), fresh.parameters(), strict=True))
        pieces = {name: self.layout.pieces.get(name) for name in (f"{layer.name}.weight", f"{layer.name}.bias")}
        return {
            name: piece.stacked(made[id(piece.value)].detach())[0].cpu().numpy()
            for name, piece in pieces.items()
            if piece is not None and id(piece.value) in made
        }


def units_first(h: Tensor, axis: int) -> Tensor:
    """An activation's output → (1, B, V, *), as float32 if it has fewer bits."""
    h = h.float() if h.dtype in (torch.float16, torch.bfloat16) else h
    return (h.unsqueeze(0) if h.dim() == 1 else h.movedim(axis, 1)).unsqueeze(0)


def named_outputs(made: Any) -> dict[str, Tensor]:
    """The results of a forward pass by name, (1, B, O); a single tensor is called logits.

    Raises InputError if no tensor is among them.
    """
    if isinstance(made, Tensor):
        made = {LOGITS: made}
    elif isinstance(made, Mapping):
        made = {LOGITS: made[LOGITS]} if LOGITS in made else made
    elif isinstance(made, tuple | list):
        made = {LOGITS if at == 0 else str(at): each for at, each in enumerate(made)}
    else:
        made = vars(made)
    found = {
        str(name): each.float().reshape(1, -1, each.shape[-1])
        for name, each in made.items()
        if isinstance(each, Tensor) and each.dim() > 1
    }
    if not found:
        raise InputError("The forward pass returns no tensor (examples, numbers), which the intervention reads.")
    return found


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Inside this context the module is in evaluation mode."""
    modes = [(own, own.training) for own in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for own, mode in modes:
            own.training = mode


def kept(module: nn.Module, names: Collection[str] | None = None) -> dict[str, Tensor]:
    """Copies of the module's parameters and buffers, by torch's names."""
    values = (*module.named_parameters(), *module.named_buffers())
    return {name: value.detach().clone() for name, value in values if names is None or name in names}
