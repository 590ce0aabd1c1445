"""Inner products of the gradients of single examples, layer by layer, and no such gradient of a whole pack laid out.

Legend: K runs, B examples, I inputs and O outputs of a layer, C channels, P numbers of a patch, L places of an image.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad, unfold

from plasticity_lab.diagnostics.places import added_up, run_by_run
from plasticity_lab.diagnostics.sensitivities import OfLayer, sensitivities
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.per_example import check_rows
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear

AT_ONCE = 16
"""Examples whose patches are laid out at a time."""


class Gram(NamedTuple):
    """⟨g_i, g_j⟩ of the gradients g by a layer's weights, and by its biases, (K, B, B) float64 each."""

    weight: Tensor
    bias: Tensor


def grams(view: View) -> Mapping[str, Gram]:
    """One for every linear layer and convolution that takes part, by name; other layers have none here.

    Raises OwnClassError if a layer's rows are not the examples (see `check_rows`).
    """
    return view.once("grams", lambda: dict(_found(view)))


def _found(view: View) -> Iterator[tuple[str, Gram]]:
    for name, own in sensitivities(view).layers.items():
        if isinstance(own.layer, StackedLinear | StackedConv2d):
            check_rows(own.layer, own.given, own.calls, view.probe["x"].shape[1])
            gram = gram_of(own)
            there = f"{name}.bias" in view.parameters  # a torch module may have a layer without
            yield name, gram if there else Gram(gram.weight, torch.zeros_like(gram.bias))


def gram_of(own: OfLayer) -> Gram:
    """Of a linear layer or a convolution.

    A linear layer's gradient is x δᵀ, so the inner product of two examples is (xᵢ·xⱼ)(δᵢ·δⱼ). If the layer has
    several rows of an example, the gradient is a sum over them; a convolution's is a sum over the places of the
    image, of patch δᵀ. Such gradients are laid out for the examples of one run at a time, (B, I·O) or (B, P·O).
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
    """Of all weights and biases of linear layers and convolutions together, (K, B, B)."""
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
