"""GELU, with β in one of two places."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from plasticity_lab.activations.activation import Activation, Site, along_run_axis
from plasticity_lab.component import check
from plasticity_lab.kernels.layers import gelu as by_kernel
from plasticity_lab.stacking.elementary import gelu

FORMS = ("scale_input", "gate")


class GELU(Activation):
    """βx · Φ(βx) (`form=scale_input`) or x · Φ(βx) (`form=gate`), Φ the normal distribution function.

    Source: Table B1; Hendrycks & Gimpel 2016. The paper does not give the place of β. Its numbers were made with a
    scaled input, which is the default; the gate has the meaning of β in Swish. They differ much: at β = 0.05 the slope
    at 0 is 0.025 and 0.5.
    """

    in_stack = "gelu"
    neutral = {"form": "scale_input"}

    def __init__(self, beta: float = 1.0, form: str = "scale_input") -> None:
        self.beta = check("activation.beta", beta, above=0)
        self.form = check("activation.form", form, one_of=FORMS)
        self.in_stack = GELU.in_stack if form == "scale_input" else None

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """At β = 1 the two forms are one function."""
        return super().canonical({**settings, "form": "scale_input"} if settings["beta"] == 1 else settings)

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x.  torch's own gelu (the exact one) does not depend on the place in the tensor."""
        beta = along_run_axis(site.shape["beta"], x)
        value = by_kernel(x, site.shape["beta"]) if site.kernels else gelu(beta * x)
        return value if self.form == "scale_input" else value / beta
