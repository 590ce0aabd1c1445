"""How much narrower a network must be for an activation that adds parameters, so that the comparison is fair."""

from collections.abc import Callable


def trimmed(width: int, target: int, size: Callable[[int], int]) -> int:
    """The width, less a whole number of percent, whose network has the number of parameters nearest to the target.

    Concatenating activations double what the next layer receives. Source: Kumar et al. 2023, who trim 9 % from the
    2 × 100 MLP for CReLU.
    """
    widths = {round(width * (100 - percent) / 100) for percent in range(100)} - {0}
    return min(widths, key=lambda candidate: (abs(size(candidate) - target), candidate))
