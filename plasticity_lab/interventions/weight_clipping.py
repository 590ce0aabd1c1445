"""Weight clipping: after each update, weights and biases are cut to the range of a layer's first weights."""

from math import sqrt
from typing import Any

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.held import Held
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.network import Layer
from plasticity_lab.stacking.normed import linear_of
from plasticity_lab.stacking.run_axis import beside

BOUNDS = ("fan_in", "start")


class WeightClipping(Intervention):
    """θ ← clip(θ, ± strength · s), after each update, for the weights and biases of each layer.

    bound: fan_in: s = 1/√I for I inputs of a unit (for a convolution, the numbers of a patch), the range of PyTorch's
    first weights and biases; start: s is the run's largest first weight of the layer, for any `network.init`.
    last_layer: whether output layers are clipped too. Scales, shifts, noise deviations, numbers that do not depend on
    the input (a policy's log σ) and learned parameters of activations stay. With a strength that no weight reaches, it
    is the plain run.

    Source: Elsayed et al. 2024, Algorithm 1, and their code (docs/pages/reference/interventions/weight_clipping.md).
    State: none; with bound=start one number a layer.
    """

    needs_gradients = False
    operations = 10

    def __init__(self, strength: float = 1.0, bound: str = "fan_in", last_layer: bool = True) -> None:
        self.strength = check("intervention.strength", strength, above=0)
        self.bound = check("intervention.bound", bound, one_of=BOUNDS)
        self.last_layer = last_layer

    def start(self, now: Now) -> State:
        """With bound=start the largest first weight of each layer, name → (K,)."""
        if self.bound == "fan_in":
            return {}
        names = (f"{layer.name}.weight" for layer in now.model.design.layers)
        return {name: now.parameters[name].abs().flatten(1).amax(dim=1) for name in names if name in now.parameters}

    def after_step(self, now: Now) -> State:
        """Clips the active weights and biases in place."""
        for layer, bound in self._bounds(now).items():
            for part in ("weight", "bias"):
                own = now.parameters.get(f"{layer}.{part}")
                if own is not None:  # routers have no bias
                    most = beside(bound, own)
                    own.clamp_(-most, most)
        return now.state

    def held(self, now: Now) -> Held:
        """The bounds of the layers."""
        return Held(bounds=self._bounds(now))

    def _bounds(self, now: Now) -> dict[str, Tensor]:
        """Layer → (K,)."""
        left_out = () if self.last_layer else now.model.design.outputs.values()
        bounds = {}
        for layer in now.model.design.layers:
            weight = f"{layer.name}.weight"
            if weight in now.parameters and layer.name not in left_out:
                first = now.state[weight] if self.bound == "start" else 1 / sqrt(_fan_in(layer))
                bounds[layer.name] = now.settings["strength"] * first
        return bounds


def _fan_in(layer: Layer) -> int:
    """The inputs of one unit of a layer that has weights."""
    linear: Any = linear_of(layer)
    return getattr(linear, "linear", linear).inputs
