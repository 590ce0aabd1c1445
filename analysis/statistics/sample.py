"""Values as they come to a test: as an array, and why a test has nothing to say about them."""

from collections.abc import Sequence

import numpy as np

Values = Sequence[float] | np.ndarray
"""The values of one group, (n,)."""


def sample(values: Values) -> np.ndarray:
    """The values as float64 (n,).  Raises ValueError for an array of more axes."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"The values of a group have one axis; these have the shape {array.shape}.")
    return array


def why_not(groups: Sequence[np.ndarray], least: int) -> str | None:
    """Why groups of fewer than `least` values, or with one that is not finite, give no number; None if they do."""
    if min(len(group) for group in groups) < least:
        words = {2: "two", 3: "three"}
        where = " in one of the groups" if len(groups) > 1 else ""
        return f"fewer than {words.get(least, least)} seeds{where}"
    if not all(np.isfinite(group).all() for group in groups):
        return "a value that is not finite"
    return None


def constant(values: np.ndarray) -> bool:
    """Whether all values are the same: (n,), of which there is at least one."""
    return bool(np.ptp(values) == 0)


def variance(values: np.ndarray) -> float:
    """The sample variance of values (n,), rounded as SciPy's tests do it: divided by n, then times n / (n − 1)."""
    return float(((values - values.mean()) ** 2).mean() * (len(values) / (len(values) - 1)))
