"""How a feature map becomes tokens.

Legend: K runs, B examples, C channels, H, W rows and columns, M tokens, D numbers of each.

Source: section 3 and Figure 3 of Sokar et al. 2025. Places are counted row by row, and a place's numbers are its
channels (JAX's order, NHWC).
"""

from dataclasses import dataclass
from functools import cache, reduce
from itertools import product
from math import prod

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.conv import StackedConv2d

PER_LEARNED_PATCH = "per_learned_patch"
KINDS = ("per_conv", "per_feat", "per_patch", PER_LEARNED_PATCH, "per_sample", "shuffled")
EMBEDDING = 64
"""Numbers of a learned patch's token (Dopamine's labs/moes)."""
BY_CHANNEL = ("per_conv", "per_patch", PER_LEARNED_PATCH)
"""The kinds that make one number of each token, or one input of the convolution, from each channel of the map."""
OF_PATCHES = ("per_patch", PER_LEARNED_PATCH)
SHUFFLE_SEED = 0
"""One permutation for all runs, so that differences between runs are not due to the order."""
Maps = tuple[int, int, int]


@dataclass(frozen=True)
class Tokens:
    """A way from maps (C, H, W) to tokens.

    per_conv: a token for each place, with the channels as its numbers. per_feat: one for each channel, with its places.
    per_patch: one for each patch of patch × patch places, with the channels' means; places at the end that fill no
    patch are left out.
    per_learned_patch: with a convolution over the patch instead of means (as in Dopamine's code; the paper says means).
    per_sample: the whole map. shuffled: per_conv of a map with permuted numbers; all examples and runs use the same
    permutation, a function of `SHUFFLE_SEED`. A permutation of whole places would change nothing, since no head uses
    the position of a token.
    """

    kind: str = "per_conv"
    patch: int = 3

    def __post_init__(self) -> None:
        check("network.tokens", self.kind, one_of=KINDS)
        check("network.patch", self.patch, at_least=1)

    @property
    def by_channel(self) -> bool:
        """Whether layers that receive tokens have a row, or a block of rows, for each channel of the map."""
        return self.kind in BY_CHANNEL

    @property
    def of_patches(self) -> bool:
        """Whether each token is made from a patch."""
        return self.kind in OF_PATCHES

    def shape(self, maps: Maps) -> tuple[int, int]:
        """(M, D).  Raises ConfigError if no patch fits in."""
        channels, rows, columns = maps
        if self.of_patches and min(rows, columns) < self.patch:
            raise ConfigError(
                f"network.patch is {self.patch}, and the feature map has {rows} × {columns} places; choose a "
                "smaller one."
            )
        return {
            "per_conv": (rows * columns, channels),
            "per_feat": (channels, rows * columns),
            "per_patch": ((rows // self.patch) * (columns // self.patch), channels),
            PER_LEARNED_PATCH: ((rows // self.patch) * (columns // self.patch), EMBEDDING),
            "per_sample": (1, prod(maps)),
            "shuffled": (rows * columns, channels),
        }[self.kind]

    def layer(self, maps: Maps) -> StackedConv2d | None:
        """The convolution over patches; None if the tokens have no such layer."""
        if self.kind != PER_LEARNED_PATCH:
            return None
        return StackedConv2d("patches", maps, EMBEDDING, self.patch, "valid", self.patch)

    def of(self, maps: Tensor) -> Tensor:
        """(K, B, C, H, W), or the output of `layer` → the tokens, (K, B, M, D)."""
        if self.kind == "per_feat":
            return maps.flatten(3)
        if self.kind == "per_patch":
            maps = _means(maps, self.patch)
        by_place = maps.movedim(2, -1).flatten(2, 3)
        if self.kind == "per_sample":
            return by_place.flatten(2).unsqueeze(2)
        if self.kind == "shuffled":
            order = _order_there(prod(by_place.shape[2:]), maps.device)
            return by_place.flatten(2).index_select(2, order).unflatten(2, by_place.shape[2:])
        return by_place


def shuffled_order(numbers: int) -> Tensor:
    """The source index of each number of a shuffled map, place by place: a permutation of all of them."""
    return torch.from_numpy(host_stream(SHUFFLE_SEED, "shuffled tokens").permutation(numbers))


@torch.library.custom_op("plasticity_lab::shuffled_order", mutates_args=())
def _order_there(numbers: int, device: torch.device) -> Tensor:
    """`shuffled_order` on a device, as a new tensor.  An operator, since torch cannot compile the drawing."""
    return _kept_order(numbers, device).clone()


@_order_there.register_fake
def _(numbers: int, device: torch.device) -> Tensor:
    return torch.empty(numbers, dtype=torch.int64, device=device)


@cache
def _kept_order(numbers: int, device: torch.device) -> Tensor:
    """Copied to each device only once, and not in every step."""
    return shuffled_order(numbers).to(device)


def _means(maps: Tensor, patch: int) -> Tensor:
    """(K, B, C, H, W) → (K, B, C, H // patch, W // patch), added up one by one: the same bits in any pack."""
    rows, columns = (side // patch for side in maps.shape[3:])
    parts = (
        maps[..., i : rows * patch : patch, j : columns * patch : patch] for i, j in product(range(patch), repeat=2)
    )
    return reduce(torch.add, parts) / patch**2
