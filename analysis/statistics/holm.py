"""Holm's correction of p-values that are read together: the chance of any false alarm stays that of one test."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The corrected p-values, in the order given: one below a level is significant at it, whatever the others are.

    The k-th smallest of m is multiplied by m − k + 1; a greater one is never corrected to less than a smaller one, and
    none to more than 1. None (no test) stays None and counts for no test.

    Source: Holm 1979, step down. Needs no independence of the tests.  Raises ValueError for what is no probability.
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
