"""The choice head=tokenised: one dense layer, shared by all tokens, and the sum or mean of its outputs.

Legend: K runs, B examples, M tokens, D numbers of each, U units of the dense layer.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.building import output_layers
from plasticity_lab.networks.heads.head import Encoded, Head, HeadDesign
from plasticity_lab.networks.network import Activate, Layer, Unit
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.products import row_times


class Tokenised(Head):
    """Tokens → a layer, the same for each → activation → sum or mean over tokens → outputs.

    The layer has the encoder's hidden width, times scale. pooled: sum, or mean, which is 1 / M of it: the last layer
    receives less, so that its learning rate is part of a comparison.
    Pooled before the layer, this is head=average. Source: Figure 5 of Sokar et al. 2025.
    """

    takes_tokens = True

    def __init__(self, pooled: str = "sum", scale: float = 1.0) -> None:
        self.pooled = check("head.pooled", pooled, one_of=("sum", "mean"))
        self.scale = check("head.scale", scale, above=0)

    @property
    def plain_sum(self) -> bool:
        """Whether tokens are added up, and the layer is as wide as the network's."""
        return self.pooled == "sum" and self.scale == 1

    def design(self, encoded: Encoded) -> HeadDesign:
        """The layer and the outputs.  Raises ConfigError if the agent asks for noise; the paper's code refuses it
        too.
        """
        if encoded.shapes.noise is not None:
            raise ConfigError(
                "head=tokenised has no noisy layers, since one layer serves all tokens; choose agent.noisy=false, as "
                "with agent=rainbow_lite, or another head."
            )
        tokens, inputs = encoded.tokens
        ((name, width), *_) = encoded.hidden.items()
        units = max(1, round(width * self.scale))
        outputs = output_layers(encoded.shapes, int(units * encoded.expansion))
        place = Unit(name, (units, tokens, 1), name, outputs.receiving, kind="channel")
        layer = StackedLinear(name, inputs, units, positions=tokens)
        return HeadDesign([layer, *outputs.layers], [place], outputs.names, (name,))

    def forward(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], tokens_KBMD: Tensor, activate: Activate
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The tokens → their sum or mean behind the layer."""
        (dense,) = layers
        examples, tokens = tokens_KBMD.shape[1:3]
        h = dense(parameters, tokens_KBMD.flatten(1, 2)).unflatten(1, (examples, tokens))
        h = activate(0, h.movedim(3, 2).unsqueeze(4)).flatten(3).transpose(2, 3)  # (K, B, M, U)
        each = h.contiguous().flatten(0, 1)
        share = 1.0 if self.pooled == "sum" else 1 / tokens
        shares = torch.full(each.shape[:2], share, dtype=each.dtype, device=each.device)
        return row_times(shares, each).unflatten(0, h.shape[:2]), {}
