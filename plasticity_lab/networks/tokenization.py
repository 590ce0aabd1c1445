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
"""Those of which a channel of the map is one number of each token, or of what each is made of."""
OF_PATCHES = ("per_patch", PER_LEARNED_PATCH)
SHUFFLE_SEED = 0
"""One order for all runs, so that their difference is not that of orders."""
Maps = tuple[int, int, int]


@dataclass(frozen=True)
class Tokens:
    """A way from maps (C, H, W) to tokens.

    per_conv: a token for each place, of its channels. per_feat: one for each channel, of its places. per_patch: one for
    each patch of patch × patch places, of the channels' means; places at the end that fill no patch are left out.
    per_learned_patch: of a convolution over the patch instead of means (what Dopamine's code has; the paper says
    means). per_sample: the whole map. shuffled: per_conv of a map whose numbers have changed places, by one order for
    all examples and runs, a function of `SHUFFLE_SEED`. Of whole places alone that would change nothing, as no head
    tells places apart.
    """

    kind: str = "per_conv"
    patch: int = 3

    def __post_init__(self) -> None:
        check("network.tokens", self.kind, one_of=KINDS)
        check("network.patch", self.patch, at_least=1)

    @property
    def by_channel(self) -> bool:
        """Whether the layers that are given tokens have a row, or a block of rows, for each channel of the map."""
        return self.kind in BY_CHANNEL

    @property
    def of_patches(self) -> bool:
        """Whether each token is made of a patch."""
        return self.kind in OF_PATCHES

    def shape(self, maps: Maps) -> tuple[int, int]:
        """(M, D).  Raises ConfigError where no patch fits in."""
        channels, rows, columns = maps
        if self.of_patches and min(rows, columns) < self.patch:
            raise ConfigError(
                f"network.patch is {self.patch}, and what the encoder leaves has {rows} × {columns} places; choose a "
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
        """The convolution over patches; None where tokens have none."""
        if self.kind != PER_LEARNED_PATCH:
            return None
        return StackedConv2d("patches", maps, EMBEDDING, self.patch, "valid", self.patch)

    def of(self, maps: Tensor) -> Tensor:
        """(K, B, C, H, W), or what `layer` has made of it → the tokens, (K, B, M, D)."""
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
    """Where each number of a shuffled map comes from, place by place: a permutation of all of them."""
    return torch.from_numpy(host_stream(SHUFFLE_SEED, "shuffled tokens").permutation(numbers))


@torch.library.custom_op("plasticity_lab::shuffled_order", mutates_args=())
def _order_there(numbers: int, device: torch.device) -> Tensor:
    """`shuffled_order` on a device.  An operator, since torch cannot compile what draws it; the result is its own."""
    return _kept_order(numbers, device).clone()


@_order_there.register_fake
def _(numbers: int, device: torch.device) -> Tensor:
    return torch.empty(numbers, dtype=torch.int64, device=device)


@cache
def _kept_order(numbers: int, device: torch.device) -> Tensor:
    """To each device it is copied once, and not in every step."""
    return shuffled_order(numbers).to(device)


def _means(maps: Tensor, patch: int) -> Tensor:
    """(K, B, C, H, W) → (K, B, C, H // patch, W // patch), added up one by one: the same bits in any pack."""
    rows, columns = (side // patch for side in maps.shape[3:])
    parts = (
        maps[..., i : rows * patch : patch, j : columns * patch : patch] for i, j in product(range(patch), repeat=2)
    )
    return reduce(torch.add, parts) / patch**2
