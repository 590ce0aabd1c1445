"""Tokens and parameters of the SoftMoE reference, from NumPy alone."""

import numpy as np

from tests.networks.reference.numbers import draw

EXAMPLES, TOKENS, WIDTH, HIDDEN = 4, 9, 8, 12
CASES = {  # experts, slots of each, whether tokens and φ are normalised
    "one expert": (1, 9, False),
    "two experts": (2, 3, False),
    "four experts, normalised": (4, 1, True),
}


def tokens(case: str) -> np.ndarray:
    """(B, M, D)."""
    return draw(case, "tokens").normal(size=(EXAMPLES, TOKENS, WIDTH)).astype(np.float32)


def slope(case: str) -> np.ndarray:
    """(B, M, D): the loss is Σ slope · output, whose gradient is compared."""
    return draw(case, "slope").normal(size=(EXAMPLES, TOKENS, WIDTH)).astype(np.float32)


def parameters(case: str) -> dict[str, np.ndarray]:
    """φ (D, S), expert by expert; the experts' layers (N, I, O) and (N, O); the scalar (1,) where there is one."""
    experts, slots, normalised = CASES[case]
    shapes = {
        "router.weight": (WIDTH, experts * slots),
        "experts.hidden.weight": (experts, WIDTH, HIDDEN),
        "experts.hidden.bias": (experts, HIDDEN),
        "experts.output.weight": (experts, HIDDEN, WIDTH),
        "experts.output.bias": (experts, WIDTH),
        **({"router.scalar": (1,)} if normalised else {}),
    }
    return {name: (draw(case, name).normal(size=shape) * 0.5).astype(np.float32) for name, shape in shapes.items()}
