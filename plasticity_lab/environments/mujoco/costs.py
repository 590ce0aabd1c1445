"""Sums of squares, as every body's rewards need them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def squared(values: NDArray[Any]) -> NDArray[Any]:
    """The sum of the squares of what each copy has, (M, ...) → (M,), in the numbers' own precision.

    Added up in the order in which NumPy adds those of one copy alone, so that M changes no bit.
    """
    return np.square(values).reshape(len(values), -1).sum(axis=1)
