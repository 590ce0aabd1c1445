"""Feature rank: in how many directions the examples lie, as the layer before the outputs sees them.

Legend: K runs, B examples, D numbers of a layer, S singular values.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import Diagnostic, interval
from plasticity_lab.diagnostics.places import added_up, run_by_run
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class FeatureRank(Diagnostic):
    """Three ranks of the matrix (examples × numbers) of the last hidden layer's outputs on the probe, not centred.

    With singular values σ: `effective_rank` exp(−Σ p ln p), p = σ / Σσ (Roy and Vetterli 2007); `stable_rank` Σσ² /
    σ₁²; `srank` the least k with σ₁ + … + σ_k ≥ (1 − δ) Σσ (Kumar et al. 2021, arXiv 2010.14498). If several layers
    lead to outputs (an actor's and a critic's), each rank is the mean over these layers. Experts' units count with all
    of their slots. All ranks are 0 if all numbers are 0, and empty if a number is not finite.
    """

    passes = 0.5

    def __init__(self, every: int | str = 1, delta: float = 0.01) -> None:
        self.every = interval(every)
        self.delta = check("diagnostics.delta", delta, above=0, below=1)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """The columns of the network."""
        names = {"effective_rank": "Effective rank", "stable_rank": "Stable rank", "srank": "srank"}
        more = {"places": 1, "better": "more"}
        return [self.column(name, f"{title} of the features", "rank", **more) for name, title in names.items()]

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        ranks = [
            run_by_run(lambda h: self._ranks(h.flatten(1)), h) for h in view.once("features", lambda: features(view))
        ]
        mean = added_up(ranks) / len(ranks)
        return dict(zip(("effective_rank", "stable_rank", "srank"), mean.unbind(dim=1), strict=True))

    def _ranks(self, own_BD: Tensor) -> Tensor:
        """The ranks of one run, (3,)."""
        matrix = own_BD.double().contiguous()
        if not bool(matrix.isfinite().all()):
            return matrix.new_full((3,), float("nan"))
        values = torch.linalg.svdvals(matrix)
        return torch.stack([effective_rank(values), stable_rank(values), srank(values, self.delta)])


def features(view: View) -> list[Tensor]:
    """The outputs of each last hidden layer, (K, B, *)."""
    hidden, answering = view.forward().hidden, set(view.model.design.outputs.values())
    last = [unit for unit in view.units if answering & set(unit.outgoing)] or view.units[-1:]
    return [hidden[unit.name] for unit in last]


def effective_rank(values_S: Tensor) -> Tensor:
    """exp of the entropy of singular values as shares of their sum, ()."""
    share = values_S / values_S.sum()
    entropy = -torch.where(share > 0, share * share.clamp(min=1e-300).log(), 0.0).sum()
    return torch.where(values_S.sum() > 0, entropy.exp(), 0.0)


def stable_rank(values_S: Tensor) -> Tensor:
    """Σσ² / σ₁², ().  values: the largest first."""
    return torch.where(values_S[0] > 0, (values_S / values_S[0].clamp(min=1e-300)).square().sum(), 0.0)


def srank(values_S: Tensor, delta: float) -> Tensor:
    """The least k such that the first k values make up 1 − δ of the sum, ().  values: the largest first."""
    below = (values_S.cumsum(0) < (1 - delta) * values_S.sum()).sum()
    return torch.where(values_S.sum() > 0, below + 1, 0).double()
