"""The base class of heads with a mixture of experts as penultimate layer, which receive the feature map as tokens.

Legend: K runs, B examples, C channels, H, W rows and columns, M tokens, D numbers of each, N experts, P slots of each,
S = N · P, U units of an expert's hidden layer.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Self

from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.building import dense_units, output_layers
from plasticity_lab.networks.heads.head import Encoded, Head, HeadDesign
from plasticity_lab.networks.heads.routing import Routing, importance, load, slots_of
from plasticity_lab.networks.network import Activate, Layer, Unit
from plasticity_lab.stacking.experts import StackedExperts, StackedNoisyExperts
from plasticity_lab.stacking.products import product
from plasticity_lab.stacking.router import INITS, StackedRouter
from plasticity_lab.stacking.run_axis import aligned

LOSSES = {"importance": importance, "load": load}
"""Losses by name; each is a function of the logits (K, B, M, N)."""


class MoE(Head):
    """Tokens → slots → experts → tokens, flattened → a layer for each output. Final classes define the routing.

    An expert is a layer of U units, the activation, and a layer of D; U is the encoder's hidden width times `scale`.
    slots: slots of each expert: a number, or tokens (as many as tokens), or null: the tokens times `capacity`, shared
    by the experts and rounded up. router: the distribution of φ's first values (see `StackedRouter`). shared_noise:
    whether the experts of a noisy agent have the same noise, equal for all slots of an example; their second layers
    have none. further_layer: whether a layer of the encoder's hidden width, and the activation, follow the experts.

    No activation follows the experts' outputs, as in Dopamine's labs/moes; layer normalisation applies only to the
    encoder. Source: Obando-Ceron et al. 2024; Sokar et al. 2025.
    """

    takes_tokens = has_experts = True
    prunable = False
    """Whether experts can be closed, as an intervention asks for (see `StackedRouter`)."""
    balancing: Mapping[str, float] = {}
    """Losses that balance the experts' load, by `balance`, with their weights; none, as in the papers."""

    def __init__(
        self,
        experts: int = 1,
        slots: int | str | None = None,
        capacity: float = 1.0,
        scale: float = 1.0,
        router: str = "lecun_normal",
        shared_noise: bool = True,
        further_layer: bool = False,
    ) -> None:
        self.experts = check("head.experts", experts, at_least=1)
        if isinstance(slots, str):
            check("head.slots", slots, one_of=("tokens",))
        elif slots is not None:
            check("head.slots", slots, at_least=1)
        self.slots = slots
        self.capacity = check("head.capacity", capacity, above=0)
        if slots is not None and capacity != 1:
            raise ConfigError(
                f"head.capacity={capacity} shares out slots among the experts, and head.slots={slots} says how many "
                "each has; choose one of the two."
            )
        self.scale = check("head.scale", scale, above=0)
        self.router = check("head.router", router, one_of=INITS)
        self.shared_noise, self.further_layer = shared_noise, further_layer

    def routed(self, inputs: int, slots: int) -> StackedRouter:
        """The router for tokens with that many numbers."""
        raise NotImplementedError

    def route(self, parameters: Mapping[str, Tensor], logits: Tensor, slots: int, there: int) -> Routing:
        """The routing of tokens to slots.  logits (K, B, M, …); the first `there` tokens are no padding."""
        raise NotImplementedError

    def slots_for(self, tokens: int) -> int:
        """P."""
        return slots_of(self.capacity if self.slots is None else self.slots, tokens, self.experts)

    def with_pruning(self) -> Self:
        """The same head with experts that can be closed."""
        other = copy(self)
        other.prunable = True
        return other

    def design(self, encoded: Encoded) -> HeadDesign:
        """The layers: router, both layers of the experts, the further layer if there is one, and the outputs."""
        tokens, inputs = encoded.tokens
        slots, ((name, width), *_) = self.slots_for(tokens), encoded.hidden.items()
        units = max(1, round(width * self.scale))
        passed = int(units * encoded.expansion)
        layers: list[Layer] = [
            replace(self.routed(inputs, slots), prunable=self.experts if self.prunable else 0),
            self._first(encoded, inputs, units, slots),
            StackedExperts("experts.output", self.experts, passed, inputs, slots),
        ]
        hidden = "experts.hidden"
        places = [Unit(hidden, (self.experts, slots, units), hidden, ("experts.output",), kind="expert")]
        inputs = tokens * inputs
        if self.further_layer:
            layers.append(encoded.normed(encoded.shapes.dense(name, inputs, width)))
            inputs = int(width * encoded.expansion)
        outputs = output_layers(encoded.shapes, inputs)
        if self.further_layer:
            places += dense_units({name: width}, outputs.receiving)
        losses = tuple(self.balancing)
        return HeadDesign([*layers, *outputs.layers], places, outputs.names, ("router", hidden), losses)

    def forward(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], tokens_KBMD: Tensor, activate: Activate
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The tokens → their rows from the experts, flattened, then through the further layer if there is one."""
        router, first, second, *further = layers
        there = tokens_KBMD.shape[2]
        # Rows and columns are padded to multiples of 4: a run's products have the same bits in any pack.
        tokens = pad(tokens_KBMD, (0, 0, 0, aligned(there) - there))
        slots = self.slots_for(there)
        logits = router(parameters, tokens)
        routing = self.route(parameters, logits, slots, there)
        losses = {name: weight * LOSSES[name](logits[:, :, :there]) for name, weight in self.balancing.items()}
        count = self.experts * slots
        more = aligned(count) - count
        dispatch, combine = pad(routing.dispatch, (0, 0, 0, more)), pad(routing.combine, (0, more))
        given = _times(dispatch, tokens)[:, :, :count].unflatten(2, (self.experts, slots))
        made = second(parameters, activate(0, first(parameters, given))).flatten(2, 3)
        h = _times(combine, pad(made, (0, 0, 0, more)))[:, :, :there].flatten(2)
        for layer in further:
            h = activate(1, layer(parameters, h))
        return h, losses

    def _first(self, encoded: Encoded, inputs: int, units: int, slots: int) -> Layer:
        """The experts' first layer, noisy if the agent asks for it."""
        noise = encoded.shapes.noise
        if noise is None and not self.shared_noise:
            raise ConfigError(
                "head.shared_noise=false gives experts and slots separate noise, and this agent explores without "
                "noise; choose agent.noisy=true, as with agent=rainbow, or leave head.shared_noise out."
            )
        if noise is None:
            return StackedExperts("experts.hidden", self.experts, inputs, units, slots)
        return StackedNoisyExperts(
            "experts.hidden", self.experts, inputs, units, slots, noise.scope, noise.sigma, self.shared_noise
        )


def _times(one: Tensor, other: Tensor) -> Tensor:
    """Matrices of each example: (K, B, R, M) · (K, B, M, D) → (K, B, R, D)."""
    return product(one.flatten(0, 1), other.flatten(0, 1)).unflatten(0, one.shape[:2])


def lacking_experts(head: Head, needed: int) -> str | None:
    """The reason why an intervention on experts, which needs that many, does not go with a head; None if it does."""
    if not isinstance(head, MoE):
        return "it works on experts, and this head has none; head=softmoe, expert_choice and token_choice have"
    if head.experts < needed:
        return (
            f"by intervention.count there must be {needed} experts or more (one stays when others are pruned), and "
            f"head.experts is {head.experts}; choose more, or a smaller count"
        )
    return None
