"""Factors by which friction is multiplied: one drawn for each task, and a fixed set that agents are tested under.

Dohare et al. 2024 draw the friction of their Slippery Ant log-uniformly from [0.02, 2].
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.component import as_typed
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream

RANGES = {"dohare_range": [0.02, 2.0]}
"""Ranges that have a name."""


def checked_range(name: str, value: Any) -> list[float]:
    """The lowest and the highest factor that a setting names, in numbers or by a word.  Raises ConfigError."""
    if isinstance(value, str) and value in RANGES:
        return RANGES[value]
    try:
        low, high = map(float, value)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < low <= high < math.inf:
        raise ConfigError(
            f"{name} is {as_typed(value)}; it must be the lowest and the highest factor, as in [0.2, 2.0], both above "
            f"0, or {' or '.join(RANGES)}."
        )
    return [low, high]


def of_task(seeds: Sequence[int], position: int, within: Sequence[float]) -> NDArray[np.float64]:
    """The factor of each run (K,) in the task at that position: a function of the two and of the run's stream seed."""
    return np.array([_drawn(host_stream(seed, "friction", position), 1, within)[0] for seed in seeds])


def of_test(count: int, within: Sequence[float]) -> NDArray[np.float64]:
    """The factors of the test, (count,): the same for all runs, bodies and cycles, and drawn for nothing else."""
    return _drawn(host_stream(0, "test friction"), count, within)


def _drawn(stream: np.random.Generator, count: int, within: Sequence[float]) -> NDArray[np.float64]:
    """Log-uniform."""
    low, high = map(math.log, within)
    return np.exp(stream.uniform(low, high, count))
