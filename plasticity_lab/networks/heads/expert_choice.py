"""The choice head=expert_choice."""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.heads.routing import Routing, expert_choice
from plasticity_lab.stacking.router import StackedRouter


class ExpertChoice(MoE):
    """Experts take the tokens that suit them best, one a slot.  Source: Zhou et al. 2022; settings: see `MoE`."""

    def routed(self, inputs: int, slots: int) -> StackedRouter:
        """A column for each expert."""
        return StackedRouter("router", inputs, self.experts, 1, self.router)

    def slots_for(self, tokens: int) -> int:
        """P.  Raises ConfigError for more than there are tokens: no expert takes one twice."""
        slots = super().slots_for(tokens)
        if slots > tokens:
            raise ConfigError(
                f"An expert would have {slots} slots, and there are {tokens} tokens; it takes no token twice; "
                "choose head.slots=tokens, or a smaller head.slots or head.capacity."
            )
        return slots

    def route(self, parameters: Mapping[str, Tensor], logits: Tensor, slots: int, there: int) -> Routing:
        """See `expert_choice`."""
        return expert_choice(logits, slots, there, self.prunable)
