"""Gradients of single examples for a whole pack: taps in a forward pass, and sums of squared gradients.

A diagonal Fisher information is a sum of squared gradients of single examples.

Legend: K runs, B examples, D numbers of an example, O numbers of an output, n learned values of an activation.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.activations.activation import Site
from plasticity_lab.errors import OwnClassError
from plasticity_lab.networks.halves import ActivateBy, outputs_of
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Design, Layer, Network
from plasticity_lab.stacking.normed import StackedNormed, linear_of
from plasticity_lab.stacking.run_axis import aligned

Outputs = Mapping[str, Tensor]


class Tap:
    """A layer that keeps its input and output of one forward pass.

    place: zeros added to the output, so that the gradient by the output can be taken.
    """

    def __init__(self, layer: Layer) -> None:
        self.layer, self.name, self.calls = layer, layer.name, 0
        self.given = self.made = self.place = torch.empty(0)
        self._parameters: Mapping[str, Tensor] | None = None

    @property
    def image(self) -> tuple[int, int, int]:
        """(C, H, W) of a convolution."""
        return self.layer.image

    @property
    def outputs(self) -> int:
        """Number of units or channels."""
        return self.layer.outputs

    @property
    def positions(self) -> int:
        """Rows of an example."""
        return getattr(self.layer, "positions", 1)

    @property
    def passed(self) -> bool:
        """Whether it was called: layers of other environments are not."""
        return self.calls > 0

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """The output of the layer, (K, B, ...). A call with other parameters than the first one is not kept."""
        made = self.layer(parameters, x)
        if self._parameters is None:
            self._parameters = parameters
        elif self._parameters is not parameters:  # frozen values in place of learned ones
            return made
        self.given, self.made, self.calls = x.detach(), made.detach(), self.calls + 1
        self.place = torch.zeros_like(made, requires_grad=True)
        return made + self.place


def check_rows(layer: Layer, given: Tensor, calls: int, examples: int) -> None:
    """Raises OwnClassError if the gradients of single examples do not follow from the input of a layer.

    given (K, B, ...): the input of its last call. B must be the number of examples times the layer's `positions`.
    calls: how often the layer was called in one forward pass. examples: their number in that pass, padding included.
    """
    if calls > 1:
        raise OwnClassError(
            f"The layer {layer.name} is called {calls} times in one forward pass, and the gradient of an example is "
            "taken from one call; give the layer all positions of an example in one call, as rows that follow each "
            "other, and set its positions."
        )
    positions = getattr(layer, "positions", 1)
    if given.shape[1] != examples * positions:
        raise OwnClassError(
            f"The layer {layer.name} is given {given.shape[1]} rows for {examples} examples, and the gradient of an "
            f"example needs {positions} {'row' if positions == 1 else 'rows'} of each; set the layer's positions to "
            "the number of rows that an example has, and let these follow each other."
        )


@dataclass
class Taps:
    """A tapped forward pass. layers: by name; for a normalised layer, the layer within. units: by name, zeros added to
    the output of the activation, so that gradients by it can be taken.
    """

    layers: dict[str, Tap] = field(default_factory=dict)
    units: dict[str, Tensor] = field(default_factory=dict)


@contextmanager
def tapped(model: Model) -> Iterator[Taps]:
    """Inside this context every forward pass of the model is tapped, for example the passes of a loss.

    The taps belong to the last pass. They omit layers and units that took no part in it (of other environments).
    """
    taps, network = Taps(), model.network
    model.network = cast(Network, _TappedNetwork(network, model, taps))
    try:
        yield taps
    finally:
        model.network = network


class _TappedNetwork:
    change = None  # the pass below includes it

    def __init__(self, network: Network, model: Model, taps: Taps) -> None:
        self.network, self.model, self.taps = network, model, taps

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: ActivateBy, body: str
    ) -> dict[str, Tensor]:
        """The forward pass of the network."""
        self.taps.layers, self.taps.units = {}, {}
        inner: list[Tap] = []

        def tap(layer: Layer) -> Any:
            inner.append(Tap(cast(Layer, linear_of(layer))))
            return replace(layer, layer=inner[-1]) if isinstance(layer, StackedNormed) else inner[-1]

        def activated(site: int, x: Tensor, by: Mapping[str, Tensor] | None = None) -> Tensor:
            h = activate(site, x, by)
            if by is not None:
                return h
            place = torch.zeros_like(h, requires_grad=True)
            self.taps.units[self.model.units[site].name] = place
            return h + place

        with torch.enable_grad():
            layers = [tap(layer) for layer in design.layers]
            outputs = outputs_of(self.network, replace(design, layers=layers), parameters, x_KBD, activated, body)
        self.taps.layers = {tap.name: tap for tap in inner if tap.passed}
        return outputs


def squared_gradients(
    model: Model,
    parameters: Mapping[str, Tensor],
    shape: Mapping[str, Tensor],
    body: str | None,
    x_KBD: Tensor,
    answers: Tensor,
    of: Callable[[Outputs, Tensor], Tensor],
) -> dict[str, Tensor]:
    """The sum over examples of (∂ of / ∂θ)², by parameter, for parameters in the environment's forward pass.

    of: (outputs, name → (K, B, O); answers (K, B, ...)) → a number for each example, (K, B), which depends on that
    example alone. In evaluation mode: a randomised activation uses its mean. No tensor (K, B, *parameters) is made: the
    layers add up the squares (`Layer.squares`), and an activation learns few numbers.

    Raises OwnClassError if a layer's rows are not the examples (see `check_rows`).
    """
    examples = x_KBD.shape[1]
    x = pad(x_KBD, (0, 0, 0, aligned(examples) - examples))
    fixed = {name: value.detach() for name, value in parameters.items()}
    learned = {
        name: value.unsqueeze(1).repeat(1, x.shape[1], 1).requires_grad_()
        for name, value in fixed.items()
        if name in model.learned_by_activation
    }
    taps: list[tuple[Tap, Tap | None]] = []

    def tap_of(layer: Layer) -> Tap:
        within = Tap(layer.layer) if isinstance(layer, StackedNormed) else None
        tap = Tap(layer if within is None else replace(layer, layer=within))
        taps.append((tap, within))
        return tap

    design = replace(model.design, layers=[tap_of(layer) for layer in model.design.layers])
    with torch.enable_grad():
        activate = _by_example(model, shape, learned)
        outputs = outputs_of(model.network, design, fixed, x, activate, body or model.only_body)
        answered = {name: value[:, :examples] for name, value in outputs.items() if name not in design.losses}
        total = of(answered, answers).sum()
    passed = [tap for pair in taps for tap in pair if tap is not None and tap.passed]
    places = [*(tap.place for tap in passed), *learned.values()]
    gradients = torch.autograd.grad(total, places, allow_unused=True, materialize_grads=True)
    squares = _squares_of_layers(taps, dict(zip(passed, gradients, strict=False)), fixed, x.shape[1])
    for name, gradient in zip(learned, gradients[len(passed) :], strict=True):
        squares[name] = torch.stack([own.square().sum(dim=0) for own in gradient.unbind()])
    return squares


def _by_example(model: Model, shape: Mapping[str, Tensor], learned: Mapping[str, Tensor]) -> ActivateBy:
    """The activation with learned values for each example, (K, B, n)."""

    def activate(site: int, h: Tensor, by: Mapping[str, Tensor] | None = None) -> Tensor:
        unit = model.units[site]
        h, own = unit.units_first(h), model.learned_at(unit.name, learned if by is None else by)
        if not own or by is not None:
            return unit.experts_first(model.activation(h, Site(shape, own)))
        # Each example as a run with its own copy of the learned values.
        apart = h.flatten(0, 1).unsqueeze(1)
        shapes = {name: value.repeat_interleave(h.shape[1], dim=0) for name, value in shape.items()}
        values = {name: value.flatten(0, 1) for name, value in own.items()}
        made = model.activation(apart, Site(shapes, values)).squeeze(1).unflatten(0, h.shape[:2])
        return unit.experts_first(made)

    return activate


def _squares_of_layers(
    taps: list[tuple[Tap, Tap | None]], gradients: Mapping[Tap, Tensor], parameters: Mapping[str, Tensor], examples: int
) -> dict[str, Tensor]:
    """The squares of the parameters of tapped layers.  taps: layers, each with the layer within a normalised one."""
    squares: dict[str, Tensor] = {}
    for tap, within in taps:
        if tap.passed:
            check_rows(tap.layer, tap.given, tap.calls, examples)
            squares |= tap.layer.squares(parameters, tap.given if within is None else within.made, gradients[tap])
        if within is not None and within.passed:
            squares |= within.layer.squares(parameters, within.given, gradients[within])
    return squares
