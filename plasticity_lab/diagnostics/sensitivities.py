"""Gradients of each example's loss, by what layers make and by what units give, in one backward pass.

Legend: K runs, B examples, * the shape of one example.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Layer
from plasticity_lab.networks.per_example import tapped


class OfLayer(NamedTuple):
    """given (K, B, *): what a layer was given. delta (K, B, *): the gradient of each example's loss by what it made,
    before any normalisation. If an example has several rows in this layer, B is larger than the number of examples.
    calls: how often the layer was called in the forward pass; given and delta belong to the last call.
    """

    layer: Layer
    given: Tensor
    delta: Tensor
    calls: int = 1


class Sensitivities(NamedTuple):
    """By the names of layers; and by those of units, the gradient of each example's loss by h, (K, B, *)."""

    layers: Mapping[str, OfLayer]
    units: Mapping[str, Tensor]


def sensitivities(view: View) -> Sensitivities:
    """Of the probe, by the agent's loss, in evaluation mode."""
    return view.once("sensitivities", lambda: _found(view))


def mean_gradients(view: View) -> Mapping[str, Tensor]:
    """The gradient of each run's mean loss on the probe, by parameter, (K, ...)."""
    return view.once("gradients", lambda: torch.func.grad(lambda own: view.loss(own).sum())(dict(view.parameters)))


def _found(view: View) -> Sensitivities:
    fixed = {name: value.detach() for name, value in view.parameters.items()}
    with tapped(view.model) as taps:
        losses = view.losses(fixed)
    layers, units = dict(taps.layers), dict(taps.units)
    places = [*(tap.place for tap in layers.values()), *units.values()]
    found = torch.autograd.grad(losses.sum(), places, allow_unused=True, materialize_grads=True)
    return Sensitivities(
        {
            name: OfLayer(tap.layer, tap.given, delta, tap.calls)
            for (name, tap), delta in zip(layers.items(), found, strict=False)
        },
        dict(zip(units, found[len(layers) :], strict=True)),
    )
