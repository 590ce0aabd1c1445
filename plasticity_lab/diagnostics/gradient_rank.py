"""In how many directions the examples of a probe pull a layer.

Legend: K runs, B examples.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.feature_rank import srank
from plasticity_lab.diagnostics.places import ALL, AUTO, auto_layer, check_named, run_by_run, with_gram
from plasticity_lab.diagnostics.sensitivities import grams, whole_gram
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class GradientRank(Diagnostic):
    """The least number of singular values that make up a `share` of their sum, for two matrices.

    `gradient_rank` uses the Gram matrix M = GᵀG of the examples' gradients, `gradient_root_rank` uses G. The singular
    values of G are the roots of M's, and the two ranks differ.

    layer: a linear layer or a convolution (its weights count); auto: the second linear layer (fc1 → fc2); all: weights
    and biases of all of them together. Source: Appendix B.7.2, which takes M and 0.99, for 256 examples.
    """

    passes = 4.5

    def __init__(self, every: int | str = TASK, layer: str = AUTO, share: float = 0.99) -> None:
        self.every = interval(every)
        self.layer = layer
        self.share = check("diagnostics.share", share, above=0, below=1)

    def applies_to(self, model: Model) -> bool:
        """Raises ConfigError if the network has no such layer."""
        known = with_gram(model)
        check_named("diagnostics.layer", self.layer, [AUTO, ALL, *known])
        return bool(known)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """The columns of the layer."""
        return [
            self.column("gradient_rank", "Rank of the gradients (Gram)", "rank (Gram)", places=1, better="more"),
            self.column("gradient_root_rank", "Rank of the gradients", "rank (gradients)", places=1, better="more"),
        ]

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        if self.layer == ALL:
            gram = whole_gram(view)
        else:
            gram = grams(view)[auto_layer(view.model) if self.layer == AUTO else self.layer].weight
        ranks = run_by_run(self._ranks, gram)
        return dict(zip(("gradient_rank", "gradient_root_rank"), ranks.unbind(dim=1), strict=True))

    def _ranks(self, gram_BB: Tensor) -> Tensor:
        """The ranks of one run, (2,)."""
        if not bool(gram_BB.isfinite().all()):
            return gram_BB.new_full((2,), float("nan"))
        values = torch.linalg.eigvalsh(gram_BB.contiguous()).flip(0).clamp(min=0)
        values = torch.where(values > values[0] * ROUNDING, values, 0.0)
        return torch.stack([srank(each, 1 - self.share) for each in (values, values.sqrt())])


ROUNDING = 1e-13
"""An eigenvalue below this share of the largest is a rounding error; its root would otherwise count."""
