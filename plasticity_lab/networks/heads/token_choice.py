"""The choice head=token_choice."""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.heads.routing import Routing, token_choice
from plasticity_lab.stacking.router import StackedRouter


class TokenChoice(MoE):
    """Tokens go to the expert that suits them best, as long as it has slots left.

    importance_loss, load_loss: weights of losses that balance the experts' load (see `balance`); 0, as in the papers:
    none. Other settings: see `MoE`.
    """

    neutral = {"importance_loss": 0.0, "load_loss": 0.0}

    def __init__(
        self,
        experts: int = 1,
        slots: int | str | None = None,
        capacity: float = 1.0,
        scale: float = 1.0,
        router: str = "lecun_normal",
        shared_noise: bool = True,
        further_layer: bool = False,
        importance_loss: float = 0.0,
        load_loss: float = 0.0,
    ) -> None:
        super().__init__(experts, slots, capacity, scale, router, shared_noise, further_layer)
        weights = {
            "importance": check("head.importance_loss", importance_loss, at_least=0),
            "load": check("head.load_loss", load_loss, at_least=0),
        }
        self.balancing = {name: weight for name, weight in weights.items() if weight}
        if self.balancing and experts == 1:
            name = next(iter(self.balancing))
            raise ConfigError(
                f"head.{name}_loss balances the load of several experts, and there is one; choose head.experts=2 or "
                f"more, or head.{name}_loss=0."
            )

    def routed(self, inputs: int, slots: int) -> StackedRouter:
        """A column for each expert."""
        return StackedRouter("router", inputs, self.experts, 1, self.router)

    def route(self, parameters: Mapping[str, Tensor], logits: Tensor, slots: int, there: int) -> Routing:
        """See `token_choice`."""
        return token_choice(logits, slots, there)
