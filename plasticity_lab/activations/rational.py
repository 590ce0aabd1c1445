"""Rational activations: a quotient of two polynomials with learned coefficients.

Legend: K runs, n and m the degrees of numerator and denominator.
"""

import functools
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation, Learnable, Site, along_run_axis
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError

VERSIONS = ("A", "B", "C", "D")
DEGREES = ((3, 2), (5, 4), (7, 6))
APPROXIMATED = ("relu", "leaky_relu", "swish", "tanh", "sigmoid")
STARTS = Path(__file__).with_name("rational_starts.json")
"""Written by fit_rational.py, which documents its numbers."""


def polynomial(x: Tensor, coefficients: Sequence[Tensor]) -> Tensor:
    """c₀ + c₁ x + c₂ x² + …, by Horner's rule.  x (K, *), each coefficient broadcastable to it → like x."""
    *lower, value = coefficients
    for coefficient in reversed(lower):
        value = value * x + coefficient
    return value


def denominator(version: str, x: Tensor, coefficients: Sequence[Tensor]) -> Tensor:
    """Q(x) > 0.  A: 1 + Σ |bⱼ xʲ|, j from 1; B and D: 1 + |Σ bⱼ xʲ|, j from 1; C: 0.1 + |Σ bⱼ xʲ|, j from 0."""
    if version == "A":
        size = x.abs()
        return 1 + size * polynomial(size, [coefficient.abs() for coefficient in coefficients])
    if version == "C":
        return 0.1 + polynomial(x, coefficients).abs()
    return 1 + (x * polynomial(x, coefficients)).abs()


@functools.cache
def starts() -> dict[tuple[str, int, int, str], tuple[list[float], list[float]]]:
    """(version, n, m, approximated function) → coefficients of numerator and denominator, from power 0 or 1 up."""
    cells = json.loads(STARTS.read_text())["cells"]
    return {
        (cell["version"], cell["numerator_degree"], cell["denominator_degree"], cell["approximates"]): (
            cell["numerator"],
            cell["denominator"],
        )
        for cell in cells
    }


class Rational(Activation):
    """P(x) / Q(x), P = Σ aᵢ xⁱ, i from 0 to n; every layer learns its own coefficients.  Source: Molina et al. 2020.

    `version` is the form of Q (see `denominator`); D is B with each aᵢ multiplied in training by a number from U(0.9,
    1.1), drawn once a call. `approximates` is the function that the initial coefficients approximate on [−3, 3].
    Outside this range, every one is nearly a line (n = m + 1), even one that began as tanh.
    """

    def __init__(
        self,
        version: str = "A",
        numerator_degree: int = 5,
        denominator_degree: int = 4,
        approximates: str = "leaky_relu",
    ) -> None:
        self.version = check("activation.version", version, one_of=VERSIONS)
        self.degrees = (numerator_degree, denominator_degree)
        if self.degrees not in DEGREES:
            raise ConfigError(
                f"activation.numerator_degree and denominator_degree are {numerator_degree} and {denominator_degree}; "
                f"they must be {', '.join(f'{n} and {m}' for n, m in DEGREES[:-1])}, or {DEGREES[-1][0]} and "
                f"{DEGREES[-1][1]}."
            )
        self.approximates = check("activation.approximates", approximates, one_of=APPROXIMATED)
        self.randomised = version == "D"

    def learnable(self, produced: int) -> dict[str, Learnable]:
        """Numerator (n + 1,) and denominator (m,); in version C (m + 1,)."""
        above, below = starts()[(self.version, *self.degrees, self.approximates)]
        return {"numerator": Learnable(above), "denominator": Learnable(below)}

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (K, *) → like x.

        In training, version D uses the first n + 1 random numbers of one run's x; if x has fewer elements, coefficients
        share them in turn.
        """
        above, below = site.learned["numerator"], site.learned["denominator"]
        if self.version == "D" and site.uniform is not None:
            numbers = site.uniform.flatten(1)
            if numbers.shape[1] < above.shape[1]:
                numbers = numbers.repeat(1, -(-above.shape[1] // numbers.shape[1]))
            above = above * (0.9 + 0.2 * numbers[:, : above.shape[1]])
        return polynomial(x, _beside(x, above)) / denominator(self.version, x, _beside(x, below))


def _beside(x: Tensor, coefficients: Tensor) -> list[Tensor]:
    """(K, n) → n coefficients, each broadcastable over x."""
    return [along_run_axis(one, x) for one in torch.unbind(coefficients, dim=1)]
