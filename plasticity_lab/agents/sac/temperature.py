"""The weight of the entropy, α. Each run learns it so that its policy has the target entropy.

Legend: K runs, B examples, S updates.

Source: Haarnoja et al. 2018, Section 5, in the form of CleanRL's sac_continuous_action.py: Adam learns log α, at the
    critics' learning rate.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.elementary import exp
from plasticity_lab.stacking.products import exact_sums
from plasticity_lab.stacking.run_axis import on_run_axis

Tensors = Mapping[str, Tensor]
NAME = "log_alpha"


class Temperature:
    """log α of K runs, (K,), with Adam's moments.

    rates: the runs' learning rates.
    starts: their initial α.
    epsilons: Adam's epsilon of each run; None for Adam's default.
    """

    def __init__(
        self,
        rates: Sequence[float],
        starts: Sequence[float],
        device: torch.device,
        epsilons: Sequence[float] | None = None,
    ) -> None:
        self.adam = Adam()
        epsilons = [self.adam.epsilon] * len(rates) if epsilons is None else epsilons
        own = [Adam(lr=rate, epsilon=epsilon) for rate, epsilon in zip(rates, epsilons, strict=True)]
        self.settings = on_run_axis(own, device, torch.float64)
        self.parameters = {NAME: torch.tensor([log(start) for start in starts], dtype=torch.float32, device=device)}
        self.moments = self.adam.start(self.parameters)
        self.updates = 0

    def corrections(self, updates: int) -> dict[str, Tensor]:
        """Adam's corrections for the next updates, name → (S, ...)."""
        return self.adam.corrections(self.settings, self.updates + 1, updates)

    def state(self) -> dict[str, Any]:
        """Parameters, moments and number of updates. The tensors are not copied."""
        moments = {kind: dict(values) for kind, values in self.moments.items()}
        return {"parameters": dict(self.parameters), "moments": moments, "updates": self.updates}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a state in place, without modifying the argument."""
        self.parameters[NAME].copy_(state["parameters"][NAME])
        for kind, values in self.moments.items():
            values[NAME].copy_(state["moments"][kind][NAME])
        self.updates = state["updates"]


def learn(
    adam: Adam,
    parameters: Tensors,
    moments: Mapping[str, Tensors],
    settings: Tensors,
    corrections: Tensors,
    density: Tensor,
    weight: Tensor,
    target_K: Tensor,
    of_logarithm: bool = False,
) -> None:
    """One step of Adam on −α · mean(log π + target), in place. of_logarithm: on −log α · mean(log π + target) instead.

    density (K, B): log π of new actions.
    weight (B,): 1 / examples, 0 for rows of padding.
    target (K,): the target entropy.
    The mean is computed exactly, because its last bit must not depend on the pack.
    """
    off = exact_sums(density * weight) + target_K
    gradient = -off if of_logarithm else -exp(parameters[NAME]) * off
    adam.update(parameters, {NAME: gradient}, moments, settings, corrections)
