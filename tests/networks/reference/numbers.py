"""The weights and images of the references, from NumPy alone, and which numbers of a gradient are kept."""

from zlib import crc32

import numpy as np

ACTIONS, EXAMPLES, HIDDEN, KEPT = 6, 4, 32, 64
CASES = {  # network → image (C, H, W)
    "nature": (4, 84, 84),
    "impala": (4, 84, 84),
    "small_impala": (3, 10, 10),
    "small_impala_100": (3, 10, 10),
}


def draw(*words: str) -> np.random.Generator:
    """A generator of its own for each purpose."""
    return np.random.default_rng([crc32(word.encode()) for word in words])


def weight(case: str, layer: str, inputs: int, outputs: int) -> np.ndarray:
    """(I, O): of a convolution (C · rows · columns of the kernel, O), channel by channel."""
    return draw(case, layer, "weight").normal(0, (1 / inputs) ** 0.5, (inputs, outputs)).astype(np.float32)


def bias(case: str, layer: str, outputs: int) -> np.ndarray:
    """(O,)."""
    return draw(case, layer, "bias").normal(0, 0.1, outputs).astype(np.float32)


def images(case: str) -> np.ndarray:
    """(B, C, H, W), from 0 to 1."""
    return draw(case, "images").random((EXAMPLES, *CASES[case]), np.float32)


def slope(case: str) -> np.ndarray:
    """(B, actions): the loss is Σ slope · output, whose gradient is compared."""
    return draw(case, "slope").normal(size=(EXAMPLES, ACTIONS)).astype(np.float32)


def kept(case: str, parameter: str, gradient: np.ndarray) -> np.ndarray:
    """Some numbers of a gradient, the same in both layouts of it as given here: (I, O) or (O,)."""
    flat = gradient.ravel()
    at = draw(case, parameter, "kept").integers(0, flat.size, KEPT)
    return np.append(flat[at], np.linalg.norm(flat.astype(np.float64))).astype(np.float64)
