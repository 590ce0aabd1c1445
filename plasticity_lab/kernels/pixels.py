"""Images with their pixels in another order.

Legend: N images, D pixels.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from plasticity_lab.kernels import operators


def reordered(images_ND: NDArray[np.uint8], order_D: NDArray[np.int64], to_ND: NDArray[np.uint8]) -> None:
    """to[n, d] = images[n, order[d]]: by our kernel where this process uses kernels, else by NumPy.

    All are in one piece, and can be written to.
    """
    if operators.are_defined():
        torch.ops.plasticity_lab.reordered(*map(torch.from_numpy, (images_ND, order_D, to_ND)))
    else:  # a mode lets NumPy write in place; without one it checks first, in a copy. No pixel is out of range.
        np.take(images_ND, order_D, axis=1, out=to_ND, mode="clip")
