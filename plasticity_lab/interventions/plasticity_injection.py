"""Plasticity injection: the head is frozen, and a fresh one learns the difference to its own first outputs.

Legend: K runs, B examples, D numbers of an example, O numbers of an output.
"""

import numpy as np
from torch import Tensor

from plasticity_lab.interventions.changing import Changing
from plasticity_lab.networks.halves import FROZEN, Halves, Names
from plasticity_lab.networks.network import Arrays


class PlasticityInjection(Changing):
    """After `at` updates: outputs = h_θ(z) + (h_a(z) − h_b(z)), with features z, the old head θ, and a = b drawn again.

    Only a and the features learn from then on; gradients flow to the features through all three heads. At the
    injection h_a − h_b is exactly 0, so that no output changes. The head that learns keeps its name: a takes the place
    of θ, which moves to the frozen copy "before". b is the frozen copy "fresh", drawn at the beginning. Target networks
    are injected at the same update, with the same a and b.

    Parameters of the activation that all places share cannot be drawn again for the head alone: they go on learning in
    h_a, and both frozen heads keep their values of the injection.
    Source: Nikishin et al. 2023.
    """

    copies = 3
    held = (0, 2)

    def __init__(self, at: float = 2_500_000.0) -> None:
        super().__init__(at)

    def frozen(self, names: Names, live: Arrays, fresh: Arrays) -> dict[str, np.ndarray]:
        """The first values of θ, which nothing reads before the injection, and b, the fresh draw."""
        copied = [*names.head, *names.shared]
        return {f"before.{name}": live[name] for name in copied} | {f"fresh.{name}": fresh[name] for name in copied}

    def moves(self, names: Names) -> dict[str, str]:
        """θ ← the head, the head ← b; for shared parameters b ← the current value."""
        kept = {f"{FROZEN}before.{name}": name for name in (*names.head, *names.shared)}
        drawn = {name: f"{FROZEN}fresh.{name}" for name in names.head}
        return kept | drawn | {f"{FROZEN}fresh.{name}": name for name in names.shared}

    def forward(self, halves: Halves, x_KBD: Tensor) -> dict[str, Tensor]:
        """The head alone, or the sum of three."""
        z = halves.features(x_KBD)
        live, before, fresh = (halves.head(z, by) for by in ("", "before", "fresh"))
        injected = {name: before[name] + (live[name] - fresh[name]) for name in live}
        return halves.opened(injected, live)
