"""Made-up runs whose truth is known: how they are drawn, and what their aggregates are with runs without end.

Every task has the same law, with an SD near 1, so that one size of a simulation stands for one number of runs and
tasks. Tasks far apart are not simulated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

GRID = 400_001
"""How many quantiles stand for a law; its aggregates are right to 1e-5."""
HUMPS, PART, SD = (1.0, -1.0), 0.7, 0.3
"""Where the two humps lie, how much of all runs the first has, and the SD of either."""


@dataclass(frozen=True)
class Law:
    """draw: a generator and a shape → runs. grid: `GRID` quantiles of the law, ascending."""

    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    grid: Callable[[], np.ndarray]


def _normal_grid() -> np.ndarray:
    import scipy.special  # slow to import; see `statistics.welch`

    return scipy.special.ndtri((np.arange(GRID) + 0.5) / GRID)


def _two_humps(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(stream.random(shape) < PART, *HUMPS) + SD * stream.normal(size=shape)


def _two_humps_grid() -> np.ndarray:
    import scipy.special

    x = np.linspace(-3, 3, 2 * GRID)
    below = sum(part * scipy.special.ndtr((x - hump) / SD) for hump, part in zip(HUMPS, (PART, 1 - PART), strict=True))
    return np.interp((np.arange(GRID) + 0.5) / GRID, below, x)


LAWS: Mapping[str, Law] = {
    "normal": Law(lambda stream, shape: stream.normal(size=shape), _normal_grid),
    "skewed": Law(lambda stream, shape: np.exp(stream.normal(size=shape)), lambda: np.exp(_normal_grid())),
    "two-humped": Law(_two_humps, _two_humps_grid),
}
"""Normal; lognormal with σ = 1; and 70 % of runs that learn, 30 % that do not."""
