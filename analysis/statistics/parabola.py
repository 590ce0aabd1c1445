"""A least-squares parabola through points, with intervals of its curvature and of where it is highest or lowest.

It asks whether something is best in the middle: a correlation over a few settings, which is of straight lines, cannot.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.statistics.sample import Values, sample


@dataclass(frozen=True)
class Parabola:
    """y = a + b x + c x², over n points. curvature: c, with its interval; vertex: −b / 2c, with its interval.

    None where `reason` says why. The interval of the vertex is by the delta method, which holds where c is well known.
    """

    curvature: float | None
    low: float | None
    high: float | None
    vertex: float | None
    vertex_low: float | None
    vertex_high: float | None
    n: int
    reason: str | None = None

    @property
    def peaks(self) -> bool:
        """Whether the interval of the curvature lies below 0."""
        return self.high is not None and self.high < 0


def parabola(x: Values, y: Values, level: float = 0.95) -> Parabola:
    """The fit to the pairs (n,), (n,): ordinary least squares, Student's t with n − 3 degrees of freedom.

    Raises ValueError for lists of different lengths.
    """
    import scipy.special  # slow to import; see `welch`

    a, b = sample(x), sample(y)
    if len(a) != len(b):
        raise ValueError(f"A parabola is fitted to pairs; there are {len(a)} and {len(b)} values.")
    if reason := _why_not(a, b):
        return Parabola(None, None, None, None, None, None, len(a), reason)
    design = np.stack([np.ones_like(a), a, a**2], axis=1)
    solved, *_ = np.linalg.lstsq(design, b, rcond=None)
    freedom = len(a) - 3
    variance = float(((b - design @ solved) ** 2).sum()) / freedom
    covariance = variance * np.linalg.inv(design.T @ design)
    width = float(scipy.special.stdtrit(freedom, (1 + level) / 2))
    _, slope, curvature = map(float, solved)
    half = width * float(covariance[2, 2]) ** 0.5
    vertex = -slope / (2 * curvature) if curvature else None
    if vertex is None:
        return Parabola(curvature, curvature - half, curvature + half, None, None, None, len(a), "a straight line")
    gradient = np.array([0.0, -1 / (2 * curvature), slope / (2 * curvature**2)])
    reach = width * float(gradient @ covariance @ gradient) ** 0.5
    return Parabola(curvature, curvature - half, curvature + half, vertex, vertex - reach, vertex + reach, len(a))


def _why_not(a: NDArray[np.float64], b: NDArray[np.float64]) -> str | None:
    """Why there is no fit."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return "a value that is not finite"
    if len(np.unique(a)) < 3:
        return "fewer than three different x"
    return "fewer than four points" if len(a) < 4 else None
