"""L2 regularisation: a spring that pulls every weight towards zero."""

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.quadratic_penalty import pull, squared_distances


class L2(Intervention):
    """strength · Σ θ², per run, in the loss (so through Adam), over the weights and biases of all layers.

    What a normalisation scales and shifts by, and what an activation learns, is left alone: zero is no start for them.
    Source: Kumar et al. 2023, whose code multiplies by one half (`half`). Weights that shrink outside of the loss,
    after Adam, are `optimizer=adamw`.
    """

    def __init__(self, strength: float = 1e-3, half: bool = False) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.half = half

    def penalty(self, now: Now) -> Tensor:
        """(K,): strength · Σ θ², or half of it, over the layers that are active."""
        names = (f"{layer.name}.{part}" for layer in now.model.design.layers for part in ("weight", "bias"))
        pulled = [now.parameters[name] for name in names if name in now.parameters]
        return pull(now.settings["strength"], self.half, (squared_distances(v, v.new_zeros(())) for v in pulled))
