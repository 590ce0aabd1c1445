"""How many held-out images a pack gets right, among all classes and among the task's own.

Legend: K runs, N images, D pixels, E images at a time, O classes.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.networks.model import Model

Scores = Callable[..., Tensor]


def scores_of(model: Model, pixels: Pixels) -> Scores:
    """Both scores in evaluation mode, as a function of tensors alone.

    Its arguments are those of `supervised.score.score_of`, and between labels and `at` own (K, O): which classes are
    the task's. Returns how many are right (2, K) int64: the largest output of all, and the largest of its own classes.
    """

    def scores(
        parameters: Mapping[str, Tensor],
        shape: Mapping[str, Tensor],
        images_KND: Tensor,
        labels_KN: Tensor,
        own_KO: Tensor,
        at: Tensor,
        there: Tensor,
        factor: Tensor | None = None,
    ) -> Tensor:
        x_KED = pixels.scaled(images_KND.index_select(1, at)).expand(labels_KN.shape[0], -1, -1)
        logits_KEO = model.forward(parameters, shape, x_KED, None, factor=factor)[0]["logits"]
        within_KEO = logits_KEO.masked_fill(~own_KO.unsqueeze(1), -torch.inf)
        labels_KE = labels_KN.index_select(1, at)
        right = [(logits.argmax(dim=-1) == labels_KE) & there for logits in (logits_KEO, within_KEO)]
        return torch.stack(right).sum(dim=2)

    return scores
