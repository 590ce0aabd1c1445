"""CELU: an ELU that is smooth at 0 for every α."""

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, along_run_axis
from plasticity_lab.activations.elu import negative_part
from plasticity_lab.component import check
from plasticity_lab.stacking.elementary import exp_minus_one


class CELU(Activation):
    """x where x > 0, α (e^(x/α) − 1) elsewhere.  Source: Table B1; Barron 2017."""

    in_stack = "celu"

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = check("activation.alpha", alpha, above=0)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x."""
        alpha = along_run_axis(site.shape["alpha"], x)
        return torch.relu(x) + alpha * exp_minus_one(negative_part(x) / alpha)
