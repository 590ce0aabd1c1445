"""The factor of a t interval, with SciPy or without it."""

import math


def t_factor(confidence: float, degrees: int) -> float:
    """The number that |T| exceeds with probability 1 − confidence.  degrees: degrees of freedom, at least 1.

    SciPy's value if it is installed, as in every clone with the extra `lab`; otherwise equal to it up to 1e-13.
    """
    try:
        from scipy.stats import t  # most runs have no assay
    except ModuleNotFoundError:
        return by_bisection(confidence, degrees)
    return float(t.ppf((1 + confidence) / 2, degrees))


def by_bisection(confidence: float, degrees: int) -> float:
    """The same, from the probability that |T| is smaller."""
    low, high = 0.0, 1.0
    while within(high, degrees) < confidence:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if within(middle, degrees) < confidence else (low, middle)
    return high


def within(x: float, degrees: int) -> float:
    """P(|T| ≤ x).  Source: Abramowitz & Stegun 1964, 26.7.3 and 26.7.4."""
    angle = math.atan(x / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd, total = degrees % 2, 0.0
    term = cosine if odd else 1.0
    for k in range(1 + odd, degrees, 2):
        total += term
        term *= cosine**2 * k / (k + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
