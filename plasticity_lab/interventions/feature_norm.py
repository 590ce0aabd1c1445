"""Feature norm: a penalty on the size of the features."""

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import OUTPUTS, Intervention
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.encoder import lacking_features
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.units import read_by_outputs
from plasticity_lab.others import Others

SITES, REDUCTIONS = ("last", "all"), ("mean", "sum")


class FeatureNorm(Intervention):
    """strength · mean over the batch of the mean of the squared features, per run, in the loss.

    sites: last: the features are the values that the output layers read; all: the values after each activation,
    added up over the places. reduction: the mean over the features of a place, or their sum.
    Source: Lyle et al. 2024, "Disentangling the causes of plasticity loss in neural networks", Section 4.1.
    """

    requires = frozenset({OUTPUTS})
    objects_to = frozenset({"head", "network"})
    watches_outputs = True

    def __init__(self, strength: float = 1e-3, sites: str = "last", reduction: str = "mean") -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.sites = check("intervention.sites", sites, one_of=SITES)
        self.reduction = check("intervention.reduction", reduction, one_of=REDUCTIONS)

    def objection(self, others: Others) -> str | None:
        """Experts pass on sums of slots instead of features of an example; other networks have no last features."""
        if "head" in others and isinstance(others.one("head", Head), MoE):
            return "it needs the features of each example, and experts compute features of slots"
        if self.sites == "last" and (why := lacking_features(others)):
            return f"{why}; choose intervention.sites=all"
        return super().objection(others)

    def penalty(self, now: Now) -> Tensor:
        """(K,)."""
        units = read_by_outputs(now.model, now.parameters) if self.sites == "last" else now.units
        features = [now.hidden[unit.name].flatten(2) for unit in units]
        return now.settings["strength"] * size(now, features, self.reduction)


def size(now: Now, places: Sequence[Tensor], reduction: str) -> Tensor:
    """(K,): the mean over the batch of the squares of each place (K, B, F), as their mean or sum, added up."""
    shares = [1 / place.shape[2] if reduction == "mean" else 1.0 for place in places]
    return reduce(torch.add, (now.mean_over_batch(h * h) * share for h, share in zip(places, shares, strict=True)))
