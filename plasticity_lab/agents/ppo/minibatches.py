"""From a rollout to what its updates read.

Legend: K runs, R rows of a rollout (T·N), U updates by it, P passes over it, B rows of a minibatch (padded), D numbers
of an observation, A numbers of an action.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.ppo.advantages import advantages, normalised
from plasticity_lab.agents.ppo.policy import log_probability
from plasticity_lab.agents.ppo.rollout import Transitions
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import aligned

Array = NDArray[np.float64]
NORMALISED = ("batch", "minibatch", "none")


class Minibatches:
    """How a rollout of R rows is cut up: in each of P passes into as many minibatches, in an order drawn anew.

    normalised: whether advantages are normalised over the rollout ("batch"), over each minibatch, or not ("none").
    """

    def __init__(self, rows: int, minibatches: int, passes: int, normalised: str) -> None:
        self.rows, self.count, self.passes, self.normalised = rows, minibatches, passes, normalised
        self.size = rows // minibatches
        self.padded = aligned(self.size)

    @property
    def updates(self) -> int:
        """U."""
        return self.count * self.passes

    def tables(
        self, seen: Transitions, settings: Mapping[str, Array], seeds: Sequence[int], first: int
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """What all updates read, and what has a row for each.

        The first: "x" (K·R, D), "action" (K·R,) or (K·R, A), "old", "value", "target" (K·R,), "weight" (B,). The
        second: "pick" (U, K, B), rows of the first; "advantage" (U, K, B). settings: "gamma" and "gae_lambda" (K,).
        first: steps of the run before the rollout. Sums over examples are taken here, in float64, run by run: inside a
        compiled update their last bits could depend on the pack's width.
        """
        runs = len(seeds)
        values = seen.outputs["value"][..., 0]
        found = advantages(
            seen.rewards.astype(np.float64),
            values.astype(np.float64),
            seen.following.astype(np.float64),
            seen.terminated,
            seen.ended,
            settings["gamma"],
            settings["gae_lambda"],
        )
        outputs = {name: torch.tensor(value).flatten(1, 2) for name, value in seen.outputs.items()}
        action = torch.tensor(seen.action).flatten(1, 2)
        common = {
            "x": torch.tensor(seen.x).flatten(0, 2),
            "action": action.flatten(0, 1),
            "old": log_probability(outputs, action).flatten(),
            "value": torch.tensor(values).flatten(),
            "target": torch.tensor((found + values).astype(np.float32)).flatten(),
            "weight": torch.cat([torch.full((self.size,), 1 / self.size), torch.zeros(self.padded - self.size)]),
        }
        picks = self._picks(seeds, first)
        chosen = found.reshape(runs, self.rows)
        if self.normalised == "batch":
            chosen = normalised(chosen)
        chosen = np.take_along_axis(chosen[None], picks, axis=2)
        if self.normalised == "minibatch":
            chosen = normalised(chosen)
        missing = ((0, 0), (0, 0), (0, self.padded - self.size))
        rows = np.pad(picks, missing) + np.arange(runs)[None, :, None] * self.rows
        weights = np.pad(chosen, missing).astype(np.float32)
        each = {"pick": torch.from_numpy(rows), "advantage": torch.from_numpy(weights)}
        return common, each

    def _picks(self, seeds: Sequence[int], first: int) -> NDArray[np.int64]:
        """Rows of each run's rollout, (U, K, size)."""
        picks = []
        for seed in seeds:
            draw = host_stream(seed, "minibatches", first)
            orders = np.stack([draw.permutation(self.rows) for _ in range(self.passes)])
            picks.append(orders.reshape(self.updates, self.size))
        return np.stack(picks, axis=1)
