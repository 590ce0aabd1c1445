"""How many held-out images a pack gets right: compiled where the step is.

Legend: K runs, N images, D pixels, E images at a time, O classes.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.kernels.through import through
from plasticity_lab.networks.model import Model

AT_ONCE = 200
"""Images of one forward pass: a fixed number, so that a run's logits never depend on its pack; few enough that what
lies between the layers stays in the cache."""

Score = Callable[..., Tensor]


def score_of(model: Model, pixels: Pixels, kernels: bool = False) -> Score:
    """The score in evaluation mode, as a function of tensors alone.

    Its arguments: parameters; the activation's settings on the run axis; images (K, N, D) or (1, N, D) uint8; labels
    (K, N); at (E,), which of the N; there (E,), which of the E count; factor (), by which pre-activations are
    multiplied, if they are. Returns how many are right, (K,) int64.
    """
    once = kernels and model.network.reading is not None  # our kernels take once what all runs are given

    def score(
        parameters: Mapping[str, Tensor],
        shape: Mapping[str, Tensor],
        images: Tensor,
        labels_KN: Tensor,
        at: Tensor,
        there: Tensor,
        factor: Tensor | None = None,
    ) -> Tensor:
        x = pixels.scaled(images.index_select(1, at))
        x_KED = x if once else x.expand(labels_KN.shape[0], -1, -1)
        logits_KEO = model.forward(through(parameters, kernels), shape, x_KED, None, factor=factor)[0]["logits"]
        right_KE = logits_KEO.argmax(dim=-1) == labels_KN.index_select(1, at)
        return (right_KE & there).sum(dim=1)

    return score


def indices(total: int, device: torch.device) -> list[tuple[Tensor, Tensor]]:
    """0 … total − 1 in equal parts of `AT_ONCE`: (at, there); what is missing repeats the last and does not count."""
    every = torch.arange(-(-total // AT_ONCE) * AT_ONCE, device=device)
    return list(zip(every.clamp(max=total - 1).split(AT_ONCE), (every < total).split(AT_ONCE), strict=True))
