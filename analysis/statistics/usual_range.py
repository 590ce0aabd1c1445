"""The width of a range that later values of plain noise seldom leave.

Noise: the values are independent and normal. The range is a simultaneous prediction interval for all later values.
Source: Hahn and Meeker 1991, "Statistical Intervals", chapter 4.
"""

from functools import cache
from typing import Any

import numpy as np

NODES = 200
"""Points of Gauss and Legendre's rule, for the mean and for the standard deviation of the first values."""


def leave_chance(deviations: float, first: int, later: int) -> float:
    """The chance that any of `later` values lies outside the range.

    The range is the mean of the `first` values, and this number of their standard deviations on both sides.
    """
    import scipy.special  # slow to import; see `two_groups`

    at, weights = np.polynomial.legendre.leggauss(NODES)
    share, weights = (at + 1) / 2, weights / 2
    mean = scipy.special.ndtri(share) / first**0.5
    variance = scipy.special.chdtri(first - 1, 1 - share) / (first - 1)
    room = deviations * np.sqrt(variance)[:, None]
    inside = scipy.special.ndtr(mean + room) - scipy.special.ndtr(mean - room)
    return float(1 - weights @ inside**later @ weights)


@cache
def deviations_for(chance: float, first: int, later: int) -> float:
    """The number of standard deviations with that chance.  chance: above 0 and below 1; first: at least 2."""
    import scipy.optimize  # slow to import; see `two_groups`

    found: Any = scipy.optimize.brentq(lambda deviations: leave_chance(deviations, first, later) - chance, 0.01, 1000)
    return float(found)
