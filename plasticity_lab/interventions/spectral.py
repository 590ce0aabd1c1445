"""Spectral regularisation: a penalty that keeps the largest singular value of every layer near 1.

Legend: K runs, I inputs and O outputs of a layer as stored.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.l2 import with_slope
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.elementary import whole_power
from plasticity_lab.stacking.products import run_sums, times
from plasticity_lab.stacking.run_axis import beside

FIRST_ITERATIONS = 20
"""Iterations of the power method at the start, from a random direction. After each update, one iteration is enough."""
LEAST = 1e-12
"""Smaller lengths are replaced by this value before a division."""


class Spectral(Intervention):
    """strength · Σ over layers of (σᵖ − 1)² + ‖b‖²ᵖ, per run, in the loss; σ is the largest singular value of W.

    p is `power`. A convolution's W is the matrix from a patch to the channels; each expert has a separate W. If a layer
    is normalised, its scale is a diagonal matrix with σ = max |scale|, and its shift (if it has one) is another bias. A
    router has no bias. Learned parameters of an activation are excluded. σ is found by the power method. The state
    holds the estimated direction (K, O) of the largest stretch of each layer's W, and each update moves it by one
    iteration.
    Source: Lewandowski et al. 2024, with p = 2.
    """

    leaves_parameters = True
    operations = 450  # two vectors times each matrix, by exact sums

    def __init__(self, strength: float = 1e-3, power: int = 2) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.power = check("intervention.power", power, at_least=1)

    def start(self, now: Now) -> State:
        """The direction of each layer's largest stretch, (K, O), by the name of the layer (for an expert with its
        number).
        """
        state = {}
        for layer in now.model.design.layers:
            for name, (weight, _) in _matrices(now, layer.name).items():
                drawn = [host_stream(seed, "spectral", name).standard_normal(layer.outputs) for seed in now.seeds]
                direction = torch.stack([torch.from_numpy(each).float() for each in drawn]).to(weight.device)
                direction = pad(direction, (0, weight.shape[2] - layer.outputs))
                for _ in range(FIRST_ITERATIONS):
                    direction = _iterated(weight, direction)
                state[name] = direction
        return state

    def penalty(self, now: Now) -> Tensor:
        """(K,), over the layers that are active.

        Sums are exact and computed outside of autograd; `_as_if` supplies the gradient. Otherwise their last bits would
        depend on how a compiled kernel groups the terms.
        """
        total, active = now.settings["strength"].new_zeros(()), _active(now)
        for name, direction in now.state.items():
            if name not in active:
                continue
            weight, bias = active[name]
            stretched = times(weight.detach(), direction)
            sigma = _length(stretched)
            outwards = stretched / beside(sigma.clamp(min=LEAST), stretched)
            slope = outwards.unsqueeze(2) * direction.unsqueeze(1)
            total = total + self._near_one(sigma, weight, slope)
            if bias is not None:
                total = total + self._near_zero(bias)
            total = sum(self._of_normalisation(now, name), start=total)
        for layer in now.model.design.layers:
            if layer.name not in active:  # a normalisation that follows no matrix
                total = sum(self._of_normalisation(now, layer.name), start=total)
        return now.settings["strength"] * total

    def _of_normalisation(self, now: Now, layer: str) -> Iterator[Tensor]:
        """The terms of a layer's scale and shift, (K,) each, if it has them."""
        if f"{layer}.scale" in now.parameters:
            yield self._near_one(*_largest(now.parameters[f"{layer}.scale"]))
        if f"{layer}.shift" in now.parameters:
            yield self._near_zero(now.parameters[f"{layer}.shift"])

    def after_step(self, now: Now) -> State:
        """One iteration of the power method for each layer that is active."""
        active = _active(now)
        return {
            name: _iterated(active[name][0], direction) if name in active else direction
            for name, direction in now.state.items()
        }

    def _near_one(self, sigma: Tensor, values: Tensor, slope: Tensor) -> Tensor:
        """(σᵖ − 1)², (K,), with its gradient. slope: the derivative of σ by `values`, in their shape."""
        off = whole_power(sigma, self.power) - 1
        steepness = 2 * off * self.power * whole_power(sigma, self.power - 1)
        return _as_if(off * off, values, beside(steepness, slope) * slope)

    def _near_zero(self, values: Tensor) -> Tensor:
        """‖values‖²ᵖ, (K,), with its gradient."""
        at = values.detach()
        squares = run_sums(at * at)
        steepness = 2 * self.power * whole_power(squares, self.power - 1)
        return _as_if(whole_power(squares, self.power), values, beside(steepness, at) * at)


def _active(now: Now) -> dict[str, tuple[Tensor, Tensor | None]]:
    """The matrices and biases of all layers that are active."""
    return {name: pair for layer in now.model.design.layers for name, pair in _matrices(now, layer.name).items()}


def _matrices(now: Now, layer: str) -> dict[str, tuple[Tensor, Tensor | None]]:
    """A layer's matrix (K, I, O) and bias (K, 1, O), by its name. Experts give one pair each; idle layers give none.

    A router has no bias.
    """
    if f"{layer}.weight" not in now.parameters:
        return {}
    weight, bias = now.parameters[f"{layer}.weight"], now.parameters.get(f"{layer}.bias")
    if bias is None or weight.dim() == 3:
        return {layer: (weight, bias)}
    return {f"{layer}.{expert}": (weight[:, expert], bias[:, expert]) for expert in range(weight.shape[1])}


def _as_if(value: Tensor, values: Tensor, gradient: Tensor) -> Tensor:
    """`value` (K,), with `gradient` (K, ...) as its derivative by `values` (K, ...)."""
    return value.detach() + with_slope(values, gradient)


def _largest(scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """σ of a diagonal matrix, (K,), the diagonal as given, and the derivative of σ by it."""
    size = scale.detach().abs()
    sigma = size.flatten(1).amax(dim=1)
    return sigma, scale, torch.where(size == beside(sigma, size), scale.detach().sign(), 0.0)


def _iterated(weight: Tensor, direction: Tensor) -> Tensor:
    """One iteration of the power method.  weight (K, I, O), direction (K, O) → (K, O), scaled to length 1."""
    weight = weight.detach()
    outwards = _of_length_one(times(weight, direction))
    return _of_length_one(times(weight.transpose(1, 2), outwards))


def _length(vector: Tensor) -> Tensor:
    """The Euclidean length of each run's vector, (K,)."""
    return run_sums(vector * vector).sqrt()


def _of_length_one(vector: Tensor) -> Tensor:
    """The vector scaled to length 1; a vector of zeros remains zero."""
    return vector / beside(_length(vector).clamp(min=LEAST), vector)
