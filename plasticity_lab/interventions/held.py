"""The simple work of an intervention in an update: our kernels do it in the optimizer's step.

Legend: K runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Held:
    """A pull towards fixed values, and bounds. The defaults are neither.

    pull: (K,), the factor of a penalty pull · Σ (θ − θ₀)² over all parameters; None: no penalty.
    starts: θ₀, name → like the parameter; {} for 0.
    bounds: layer → (K,), the largest size of its weights and biases after a step.
    """

    pull: Tensor | None = None
    starts: Mapping[str, Tensor] = field(default_factory=dict)
    bounds: Mapping[str, Tensor] = field(default_factory=dict)
