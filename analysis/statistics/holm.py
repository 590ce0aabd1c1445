"""Holm's correction for several tests: the probability of any false positive stays at the level of one test."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The corrected p-values, in the order given. A corrected p below a level is significant at this level.

    The k-th smallest of m is multiplied by m − k + 1. A greater p is never corrected to a smaller value than a smaller
    p, and none to more than 1. None (no test) stays None and does not count as a test.

    Source: Holm 1979, step down. The tests need not be independent.  Raises ValueError for values outside [0, 1].
    """
    tested = [place for place, p in enumerate(p_values) if p is not None]
    raw = np.array([p_values[place] for place in tested], dtype=np.float64)
    if not ((raw >= 0) & (raw <= 1)).all():
        raise ValueError(f"A p-value lies between 0 and 1, or is None; these are {raw.tolist()}.")
    order = np.argsort(raw, kind="stable")
    factors = np.arange(len(raw), 0, -1)
    stepped = np.minimum(np.maximum.accumulate(raw[order] * factors), 1.0)
    corrected: list[float | None] = [None] * len(p_values)
    for place, value in zip(order, stepped, strict=True):
        corrected[tested[place]] = float(value)
    return corrected
