"""Sines and cosines whose bits do not depend on how many are taken at once."""

import numpy as np
from numpy.typing import NDArray

WHOLE = 32
"""A multiple of the float64 that NumPy takes at a time on any processor (AVX-512: 8; the widest SVE: 32)."""


def sine_and_cosine(angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each angle, (M,) each.

    +, −, ·, / and √ are rounded exactly, however NumPy computes them. Sine and cosine are not: it may take a single
    number, or those left over at an array's end, by code whose last bits differ. So whole vectors are handed to it.
    """
    whole = np.zeros(-(-len(angles) // WHOLE) * WHOLE)
    whole[: len(angles)] = angles
    return np.sin(whole)[: len(angles)], np.cos(whole)[: len(angles)]
