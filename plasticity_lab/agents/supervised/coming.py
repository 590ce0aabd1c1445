"""The images of a task before they are learned: gradients of the loss without a step, for interventions.

Legend: K runs, N images of the task, B examples of a batch, D pixels.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.update import Loss
from plasticity_lab.interventions.now import Tensors
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import aligned

Batch = Callable[[Tensor], tuple[Tensor, Tensor]]
"""(each run's indices, (K, B)) → images (K, B, D) as floats, and labels (K, B)."""


class ComingImages:
    """A task's training images for an intervention, before the first update (see `interventions.now.ComingData`).

    The passes are eager in every mode: they are few, and their own compiled graph would cost more than it saves.

    loss: the agent's loss. images: N. seeds: the runs' stream_seeds. position: the task's position.
    """

    def __init__(
        self, loss: Loss, network: PackedNetwork, batch: Batch, images: int, seeds: Sequence[int], position: int
    ) -> None:
        self.loss, self.network, self.batch, self.images = loss, network, batch, images
        self.seeds, self.position = seeds, position

    def gradients(self, parameters: Tensors, batch: int, most: int | None = None) -> Iterator[Tensors]:
        """The gradients of the loss, one batch after another (see `ComingData`). The last batch is not padded."""
        count = self.images if most is None else min(most, self.images)
        orders = [host_stream(seed, "coming", self.position).permutation(self.images)[:count] for seed in self.seeds]
        order_KN = torch.from_numpy(np.stack(orders)).to(self.network.device)
        gradient_of = torch.func.grad(self._total)
        for first in range(0, count, batch):
            at_KB = order_KN[:, first : first + batch]
            there, rows = at_KB.shape[1], aligned(at_KB.shape[1])
            # Rows of padding repeat the first example with weight 0 (see `aligned`).
            padded_KB = torch.cat([at_KB, at_KB[:, :1].expand(-1, rows - there)], dim=1)
            weights = (torch.arange(rows, device=at_KB.device) < there) / there
            x_KBD, labels_KB = self.batch(padded_KB)
            yield gradient_of(parameters, {"x": x_KBD, "labels": labels_KB, "weights": weights.float()})

    def _total(self, parameters: Tensors, batch: Tensors) -> Tensor:
        output = self.loss({**self.network.frozen, **parameters}, self.network.settings, batch)
        total = output.total.sum()
        for name in self.network.model.losses:
            total = total + output.hidden[name].sum()
        return total
