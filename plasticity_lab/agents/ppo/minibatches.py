"""From a rollout to the inputs of its updates.

Legend: K runs, R rows of a rollout (T·N), U updates by it, P passes over it, B rows of a minibatch (padded), D numbers
    of an observation, A numbers of an action.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.evenly_spread import probe_of
from plasticity_lab.agents.ppo.policy import log_probability
from plasticity_lab.agents.ppo.rollout import Transitions
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import aligned

Array = NDArray[np.float64]


class Minibatches:
    """The partition of a rollout of R rows into minibatches: P passes, each with a new random permutation.

    normalised: whether advantages are normalised over the rollout ("batch"), over each minibatch, or not ("none").
    """

    def __init__(self, rows: int, minibatches: int, passes: int, normalised: str) -> None:
        self.rows, self.count, self.passes, self.normalised = rows, minibatches, passes, normalised
        self.size = rows // minibatches
        self.padded = aligned(self.size)

    @property
    def updates(self) -> int:
        """U, the number of updates by a rollout."""
        return self.count * self.passes

    def tables(
        self, seen: Transitions, settings: Mapping[str, Array], seeds: Sequence[int], first: int, second: bool = False
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Two dictionaries: inputs shared by all updates, and inputs with a row for each update.

        The first has "x" (K·R, D), "action" (K·R,) or (K·R, A), "old", "value", "target" (K·R,), "weight" (B,).
        The second has "pick" (U, K, B), row numbers of the first; "advantage" (U, K, B). If `second`, it also has
        "second pick", row numbers of a second batch for each update: minibatches of other permutations.
        settings: "gamma" and "gae_lambda" (K,).
        first: steps of the run before the rollout.
        Sums over examples are computed here, in float64, run by run: inside a compiled update their last bits could
            depend on the pack's width.
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
        weights = np.pad(chosen, missing).astype(np.float32)
        each = {"pick": self._rows(picks), "advantage": torch.from_numpy(weights)}
        if second:
            each["second pick"] = self._rows(self._picks(seeds, first, "second minibatches"))
        return common, each

    def example(
        self, runs: int, x: Tensor, action: Tensor, second: bool
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Tables of zeros, with names, shapes and dtypes as from `tables`.

        x (D,), action () or (A,): one of each.
        """
        shape, all_rows = (self.updates, runs, self.padded), runs * self.rows
        common = {"x": x.new_zeros(all_rows, *x.shape), "action": action.new_zeros(all_rows, *action.shape)}
        common |= {name: torch.zeros(all_rows) for name in ("old", "value", "target")}
        each = {"pick": torch.zeros(shape, dtype=torch.int64), "advantage": torch.zeros(shape)}
        if second:
            each["second pick"] = torch.zeros(shape, dtype=torch.int64)
        return {**common, "weight": torch.zeros(self.padded)}, each

    def _rows(self, picks: NDArray[np.int64]) -> Tensor:
        """Rows of each run's rollout (U, K, size) → rows of all rollouts together, padded (U, K, B)."""
        padded = np.pad(picks, ((0, 0), (0, 0), (0, self.padded - self.size)))
        return torch.from_numpy(padded + np.arange(picks.shape[1])[None, :, None] * self.rows)

    def _picks(self, seeds: Sequence[int], first: int, purpose: str = "minibatches") -> NDArray[np.int64]:
        """Row numbers of each run's rollout for each minibatch, (U, K, size)."""
        picks = []
        for seed in seeds:
            draw = host_stream(seed, purpose, first)
            orders = np.stack([draw.permutation(self.rows) for _ in range(self.passes)])
            picks.append(orders.reshape(self.updates, self.size))
        return np.stack(picks, axis=1)


# Generalised advantage estimation for a whole pack, in float64 on the host.
#
# Legend: K runs, T steps of a rollout, N environments of each run.


def advantages(
    rewards: Array,
    values: Array,
    following: Array,
    terminated: NDArray[np.bool_],
    ended: NDArray[np.bool_],
    gamma: Array,
    gae_lambda: Array,
) -> Array:
    """A_t = Σ_l (γλ)^l δ_{t+l} to the episode's or the rollout's end, δ_t = r_t + γ V(s_{t+1}) − V(s_t): (K, T, N).

    values (K, T, N): V(s_t).
    following (K, T, N): V of the state that the step led to, also for a truncated episode's last observation.
    terminated: whether no state follows, so that its value counts as 0.
    ended: whether an episode ended, terminated or truncated, so that no later step belongs to it.
    gamma, gae_lambda: (K,).
    Source: Schulman et al. 2016.
    """
    gamma_K1, both_K1 = gamma[:, None], (gamma * gae_lambda)[:, None]
    found, later = np.empty_like(values), np.zeros_like(values[:, 0])
    for t in reversed(range(values.shape[1])):
        then = np.where(terminated[:, t], 0.0, following[:, t])
        delta = rewards[:, t] + gamma_K1 * then - values[:, t]
        # `where` instead of a product with 0: values that are not finite must not reach the previous episode.
        found[:, t] = later = delta + both_K1 * np.where(ended[:, t], 0.0, later)
    return found


def normalised(values: Array) -> Array:
    """(value − mean) / (standard deviation + 1e-8) over the last dimension.

    It is the sample standard deviation (divided by n − 1), as in both sources.
    """
    count = values.shape[-1]
    centred = values - _total(values) / count
    spread = np.sqrt(_total(centred * centred) / max(1, count - 1))
    return centred / (spread + 1e-8)


def _total(values: Array) -> Array:
    """Sums over the last dimension, added one by one: the grouping in NumPy's `sum` depends on the other dimensions."""
    return np.add.accumulate(values, axis=-1)[..., -1:]


# The probe of diagnostics: a batch of the last rollout, in the form of the loss.
#
# Legend: K runs, R rows of a rollout, P rows of the probe, U updates by the rollout, M minibatches of a pass.

Tensors = Mapping[str, Tensor]


def probe_in(common: Tensors, each: Tensors, minibatches: Minibatches) -> dict[str, Tensor]:
    """Rows evenly spread over the rollout, (K, P, ...), under the names that `loss_of` states; their weights are 1.

    common, each: the result of `Minibatches.tables`. Advantages are taken from the first pass, which has every row
        once.
    """
    first = (slice(minibatches.count), slice(None), slice(minibatches.size))
    advantage = torch.empty_like(common["old"])
    advantage[each["pick"][first].flatten()] = each["advantage"][first].flatten()
    at = probe_of(minibatches.rows, advantage.device)
    rows = {name: value for name, value in common.items() if name != "weight"} | {"advantage": advantage}
    probe = {name: value.unflatten(0, (-1, minibatches.rows))[:, at] for name, value in rows.items()}
    return probe | {"weight": torch.ones(len(at), device=advantage.device)}
