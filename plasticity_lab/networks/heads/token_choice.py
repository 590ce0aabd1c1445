"""The choice head=token_choice."""

from torch import Tensor

from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.moe.routing import Routing, token_choice
from plasticity_lab.stacking.router import StackedRouter


class TokenChoice(MoE):
    """Tokens go to the expert that suits them best, as long as it has slots left.  Settings: see `MoE`."""

    def routed(self, inputs: int, slots: int) -> StackedRouter:
        """A column for each expert."""
        return StackedRouter("router", inputs, self.experts, 1, self.router)

    def route(self, logits: Tensor, slots: int, there: int) -> Routing:
        """See `token_choice`."""
        return token_choice(logits, slots, there)
