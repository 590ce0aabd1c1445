"""How an activation's slope behaves for x < 0 and at its sides, as Section 4 groups activations by it."""

import torch

from plasticity_lab.taxonomy.bands import DEAD, hard_zones
from plasticity_lab.taxonomy.profile import Profile

ZERO, EFFECTIVE, NON_ZERO = "zero", "effective non-zero", "non-zero"
"""Figure 2's groups."""
AT_0 = 1e-6
"""A kink this near to 0 is at 0."""


def saturates(of: Profile, side: str) -> bool:
    """Whether |φ′| < 0.001 at every point far to the "left" or "right": |x| from 1,000 to 10,000."""
    return bool(((of.left if side == "left" else of.right).size < DEAD).all())


def floor(of: Profile) -> float:
    """The least |φ′| for x < 0, on the grid and far to the left; 0 where φ′ changes its sign there.

    Source: footnote 2, where a floor is an α > 0 with φ′(x) ≥ α on the negative branch.
    """
    below = of.near.x < 0
    if of.near.slope.shape[1] > 1:
        return min(of.near.size[below].min().item(), of.left.size.min().item())
    slope = torch.cat([of.near.slope[below], of.left.slope])
    lowest, highest = slope.min().item(), slope.max().item()
    return 0.0 if lowest <= 0 <= highest else min(abs(lowest), abs(highest))


def floor_kind(of: Profile) -> str:
    """Figure 2's group.  Source: footnote 2, made exact.

    "non-zero": the floor is at least 0.001. "zero": it is not, and the activation has a hard dead zone for x < 0, or
    saturates on both sides. "effective non-zero": all others, whose slope fades on the left alone or crosses 0.
    """
    if floor(of) >= DEAD:
        return NON_ZERO
    hard = any(low < 0 for low, _ in hard_zones(of.near))
    return ZERO if hard or (saturates(of, "left") and saturates(of, "right")) else EFFECTIVE


def kink_at_0(of: Profile) -> float:
    """By how much φ′ jumps at 0; 0 where it does not (footnote 3: C¹ at x = 0)."""
    return max((jump for x, jump in of.kinks if abs(x) < AT_0), default=0.0)


def side(of: Profile) -> str:
    """Figure 3's group: "two-sided" (saturating), else "one-sided (kink)" or "one-sided (smooth)", by φ′ at 0."""
    if saturates(of, "left") and saturates(of, "right"):
        return "two-sided"
    return "one-sided (kink)" if kink_at_0(of) else "one-sided (smooth)"
