"""Penalties that pull parameters towards a place: the sum of squared distances, weighted by how much each matters."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import mse_loss


def squared_distances(values: Tensor, place: Tensor) -> Tensor:
    """(values − place)², (*) like values; place (*), or (). Eager, one pass through memory, as is its gradient."""
    return mse_loss(values, place.expand_as(values), reduction="none")


def pull(strength_K: Tensor, half: bool, squares: Iterable[Tensor]) -> Tensor:
    """(K,): strength · Σ over all of `squares` (K, ...), or half of it."""
    total = sum(square.flatten(1).sum(dim=1) for square in squares)
    return (strength_K * 0.5 if half else strength_K) * torch.as_tensor(total)
