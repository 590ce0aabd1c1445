"""First weights whose columns, or rows where these are fewer, are orthogonal.

Source: Saxe et al. 2014, as torch.nn.init.orthogonal_ makes them.
"""

import numpy as np
from numpy.typing import NDArray


def orthogonal(draw: np.random.Generator, inputs: int, outputs: int, gain: float) -> NDArray[np.float32]:
    """A weight (I, O), gain · Q: Q is uniform among those with orthonormal rows or columns."""
    tall = draw.normal(size=(max(inputs, outputs), min(inputs, outputs)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))  # without it Q would not be uniform
    return (gain * (q if inputs >= outputs else q.T)).astype(np.float32)
