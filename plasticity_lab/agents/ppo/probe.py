"""A batch of the last rollout, as the loss takes it: what diagnostics are shown.

Legend: K runs, R rows of a rollout, P rows of the probe, U updates by the rollout, M minibatches of a pass.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.evenly_spread import probe_of
from plasticity_lab.agents.ppo.minibatches import Minibatches

Tensors = Mapping[str, Tensor]


def probe_in(common: Tensors, each: Tensors, minibatches: Minibatches) -> dict[str, Tensor]:
    """Rows evenly spread over the rollout, (K, P, ...) by the names that `loss_of` states; their weights are 1.

    common, each: as `Minibatches.tables` gives them. An advantage is that of the first pass, which has every row once.
    """
    first = (slice(minibatches.count), slice(None), slice(minibatches.size))
    advantage = torch.empty_like(common["old"])
    advantage[each["pick"][first].flatten()] = each["advantage"][first].flatten()
    at = probe_of(minibatches.rows, advantage.device)
    rows = {name: value for name, value in common.items() if name != "weight"} | {"advantage": advantage}
    probe = {name: value.unflatten(0, (-1, minibatches.rows))[:, at] for name, value in rows.items()}
    return probe | {"weight": torch.ones(len(at), device=advantage.device)}
