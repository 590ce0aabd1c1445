"""How a feature map becomes tokens.

Legend: K runs, B examples, C channels, H, W rows and columns, M tokens, D numbers of each.

Source: section 3 and Figure 3 of Sokar et al. 2025. Places are counted row by row, and a place's numbers are its
channels (JAX's order, NHWC).
"""

from functools import reduce
from itertools import product
from math import prod

import torch
from torch import Tensor

from plasticity_lab.randomness.host import host_stream

KINDS = ("per_conv", "per_feat", "per_patch", "per_sample", "shuffled")
Maps = tuple[int, int, int]


def shape_of(kind: str, maps: Maps, patch: int = 3) -> tuple[int, int]:
    """(M, D) of the tokens of a feature map (C, H, W)."""
    channels, rows, columns = maps
    return {
        "per_conv": (rows * columns, channels),
        "per_feat": (channels, rows * columns),
        "per_patch": ((rows // patch) * (columns // patch), channels),
        "per_sample": (1, prod(maps)),
        "shuffled": (rows * columns, channels),
    }[kind]


def tokens_of(kind: str, maps_KBCHW: Tensor, patch: int = 3, order: Tensor | None = None) -> Tensor:
    """The tokens, (K, B, M, D).

    per_conv: a token for each place, of its channels. per_feat: one for each channel, of its places. per_patch: one for
    each patch of patch × patch places, of the channels' means; places at the end that fill no patch are left out.
    per_sample: the whole map. shuffled: per_conv of a map whose numbers have changed places; order (H·W·C,): where each
    comes from, of the map place by place. Of whole places alone it would change nothing, as no head tells places apart.
    """
    if kind == "per_feat":
        return maps_KBCHW.flatten(3)
    if kind == "per_patch":
        return _means(maps_KBCHW, patch).movedim(2, -1).flatten(2, 3)
    by_place = maps_KBCHW.movedim(2, -1).flatten(2, 3)
    if kind == "per_sample":
        return by_place.flatten(2).unsqueeze(2)
    if kind == "shuffled":
        if order is None:
            raise ValueError("Shuffled tokens need an order.")
        return by_place.flatten(2)[..., order].unflatten(2, by_place.shape[2:])
    return by_place


def shuffled_order(seed: int, maps: Maps) -> Tensor:
    """A permutation of all H·W·C numbers of a map, a function of the seed alone, as which it is kept with the run."""
    return torch.from_numpy(host_stream(seed, "shuffled tokens").permutation(prod(maps)))


def _means(maps: Tensor, patch: int) -> Tensor:
    """(K, B, C, H, W) → (K, B, C, H // patch, W // patch), added up one by one: the same bits in any pack."""
    rows, columns = (side // patch for side in maps.shape[3:])
    parts = (
        maps[..., i : rows * patch : patch, j : columns * patch : patch] for i, j in product(range(patch), repeat=2)
    )
    return reduce(torch.add, parts) / patch**2
