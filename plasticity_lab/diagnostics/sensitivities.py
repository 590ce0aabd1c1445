"""Gradients of each example's loss, by the outputs of layers and units, in one backward pass; their inner products.

Legend: K runs, B examples, I inputs and O outputs of a layer, C channels, P numbers of a patch, L places of an image, *
the shape of one example.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad, unfold

from plasticity_lab.diagnostics.places import added_up, run_by_run
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Layer
from plasticity_lab.networks.per_example import check_rows, tapped
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear

AT_ONCE = 16
"""Number of examples with patches in memory at a time."""


class OfLayer(NamedTuple):
    """The input of a layer, and the gradient of each example's loss by its output.

    given (K, B, *): the input. delta (K, B, *): the gradient by the output, before any normalisation. If an example has
    several rows in this layer, B is larger than the number of examples. calls: number of calls of the layer in the
    forward pass; given and delta belong to the last call.
    """

    layer: Layer
    given: Tensor
    delta: Tensor
    calls: int = 1


class Gram(NamedTuple):
    """⟨g_i, g_j⟩ of the gradients g by the weights of a layer, and by its biases, (K, B, B) float64 each."""

    weight: Tensor
    bias: Tensor


class Sensitivities(NamedTuple):
    """layers: by name. units: the gradient of each example's loss by h, by unit name, (K, B, *)."""

    layers: Mapping[str, OfLayer]
    units: Mapping[str, Tensor]


def sensitivities(view: View) -> Sensitivities:
    """The sensitivities of the probe to the agent's loss, in evaluation mode."""
    return view.once("sensitivities", lambda: _sensitivities(view))


def mean_gradients(view: View) -> Mapping[str, Tensor]:
    """The gradient of each run's mean loss on the probe, by parameter, (K, ...)."""
    return view.once("gradients", lambda: torch.func.grad(lambda own: view.loss(own).sum())(dict(view.parameters)))


def _sensitivities(view: View) -> Sensitivities:
    fixed = {name: value.detach() for name, value in view.parameters.items()}
    with tapped(view.model) as taps:
        losses = view.losses(fixed)
    layers, units = dict(taps.layers), dict(taps.units)
    places = [*(tap.place for tap in layers.values()), *units.values()]
    gradients = torch.autograd.grad(losses.sum(), places, allow_unused=True, materialize_grads=True)
    return Sensitivities(
        {
            name: OfLayer(tap.layer, tap.given, delta, tap.calls)
            for (name, tap), delta in zip(layers.items(), gradients, strict=False)
        },
        dict(zip(units, gradients[len(layers) :], strict=True)),
    )


def grams(view: View) -> Mapping[str, Gram]:
    """The Gram matrices of every linear layer and convolution that takes part, by name; other layers have none.

    Raises OwnClassError if a layer's rows are not the examples (see `check_rows`).
    """
    return view.once("grams", lambda: dict(_grams(view)))


def _grams(view: View) -> Iterator[tuple[str, Gram]]:
    for name, own in sensitivities(view).layers.items():
        if isinstance(own.layer, StackedLinear | StackedConv2d):
            check_rows(own.layer, own.given, own.calls, view.probe["x"].shape[1])
            gram = gram_of(own)
            biased = f"{name}.bias" in view.parameters  # a torch module may have a layer without bias
            yield name, gram if biased else Gram(gram.weight, torch.zeros_like(gram.bias))


def gram_of(own: OfLayer) -> Gram:
    """The Gram matrices of a linear layer or a convolution.

    The gradient of a linear layer is x δᵀ, so the inner product of two examples is (xᵢ·xⱼ)(δᵢ·δⱼ). If the layer has
    several rows of an example, the gradient is a sum over them; for a convolution it is the sum of patch δᵀ over the
    places of the image. Such gradients are held in memory for one run at a time, (B, I·O) or (B, P·O).
    """
    layer = own.layer
    if isinstance(layer, StackedConv2d):
        weight = run_by_run(lambda x, delta: _of_patches(layer, x, delta), own.given, own.delta)
        return Gram(weight, run_by_run(lambda delta: _products(delta.flatten(2).sum(dim=2)), own.delta))
    if isinstance(layer, StackedLinear) and layer.positions > 1:
        weight = run_by_run(lambda x, delta: _products(layer.gradients(x, delta)), own.given, own.delta)
        return Gram(weight, run_by_run(lambda delta: _products(layer.by_example(delta).sum(dim=1)), own.delta))
    bias = run_by_run(_products, own.delta)
    return Gram(run_by_run(_products, own.given) * bias, bias)


def whole_gram(view: View) -> Tensor:
    """The Gram matrix of all weights and biases of linear layers and convolutions together, (K, B, B)."""
    return view.once("gram", lambda: added_up([part for own in grams(view).values() for part in own]))


def _products(rows_BI: Tensor) -> Tensor:
    rows = rows_BI.flatten(1).double().contiguous()
    return rows @ rows.t()


def _of_patches(layer: StackedConv2d, x_BCHW: Tensor, delta: Tensor) -> Tensor:
    (above, below), (left, right) = layer.margins
    rows = []
    for x, own in zip(x_BCHW.split(AT_ONCE), delta.split(AT_ONCE), strict=True):
        patches_BPL = unfold(pad(x, (left, right, above, below)), layer.kernel, stride=layer.stride)
        each = torch.bmm(patches_BPL.contiguous(), own.flatten(2).transpose(1, 2).contiguous())
        rows.append(each.flatten(1))
    return _products(torch.cat(rows))
