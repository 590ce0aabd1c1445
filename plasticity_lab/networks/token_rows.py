"""The layout of a transformer's activations with our kernels: a row for each token, as products read and write it.

Legend: K runs, B examples, N tokens, R rows, B · N, D units of each.
"""

from math import prod

from torch import Tensor

from plasticity_lab.networks.network import Unit


def in_rows(unit: Unit, x: Tensor) -> bool:
    """Whether an activation's input has the shape (K, R, D), and not (K, B, D, *)."""
    return x.dim() == 3 and len(unit.activated) > 1


def examples_first(unit: Unit, h: Tensor) -> Tensor:
    """The rows of all tokens (K, R, D) → (K, B, D, *); everything else as it is."""
    if not in_rows(unit, h):
        return h
    places = unit.activated[1:]
    return h.unflatten(1, (-1, prod(places))).transpose(2, 3).unflatten(3, places)
