"""The choice head=softmoe."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from plasticity_lab.component import Chosen
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.heads.routing import Routing, soft
from plasticity_lab.stacking.router import StackedRouter


class SoftMoE(MoE):
    """Slots are means over all tokens, and tokens get means over all slots.  Source: Puigcerver et al. 2024.

    normalised: whether the router divides tokens and φ by their lengths, with a scale that is learned; off in
    Dopamine's code. All else: see `MoE`.
    """

    def __init__(
        self,
        experts: int = 1,
        slots: int | str | None = None,
        capacity: float = 1.0,
        scale: float = 1.0,
        normalised: bool = False,
        router: str = "lecun_normal",
        shared_noise: bool = True,
        further_layer: bool = False,
    ) -> None:
        super().__init__(experts, slots, capacity, scale, router, shared_noise, further_layer)
        self.normalised = normalised

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 if normalised: in version 1 a token of zeros had the gradient NaN, and EWC left the normalisation out."""
        return max(2, cls.science_version) if settings.get("normalised", False) else cls.science_version

    def routed(self, inputs: int, slots: int) -> StackedRouter:
        """A column of φ for each slot."""
        return StackedRouter("router", inputs, self.experts * slots, self.experts, self.router, self.normalised)

    def route(self, parameters: Mapping[str, Tensor], logits: Tensor, slots: int, there: int) -> Routing:
        """See `soft`."""
        return soft(parameters, logits, there)
