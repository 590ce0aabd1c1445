"""Generalised advantage estimation for a whole pack, in float64 on the host.

Legend: K runs, T steps of a rollout, N environments of each run.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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

    values (K, T, N): V(s_t). following (K, T, N): V of what the step led to, that of a truncated episode's last
    observation too. terminated: where nothing follows, so that it counts as 0. ended: where an episode ended in either
    way, so that no later step belongs to it. gamma, gae_lambda: (K,).  Source: Schulman et al. 2016.
    """
    gamma_K1, both_K1 = gamma[:, None], (gamma * gae_lambda)[:, None]
    found, later = np.empty_like(values), np.zeros_like(values[:, 0])
    for t in reversed(range(values.shape[1])):
        then = np.where(terminated[:, t], 0.0, following[:, t])
        delta = rewards[:, t] + gamma_K1 * then - values[:, t]
        # A choice and no product with 0: what is not finite in one episode must not reach the one before.
        found[:, t] = later = delta + both_K1 * np.where(ended[:, t], 0.0, later)
    return found


def normalised(values: Array) -> Array:
    """(value − mean) / (standard deviation + 1e-8) over the last dimension.

    The deviation is that of a sample (divided by n − 1), as in both sources.
    """
    count = values.shape[-1]
    centred = values - _total(values) / count
    spread = np.sqrt(_total(centred * centred) / max(1, count - 1))
    return centred / (spread + 1e-8)


def _total(values: Array) -> Array:
    """Sums over the last dimension, added up one by one: NumPy's `sum` groups by what else there is."""
    return np.add.accumulate(values, axis=-1)[..., -1:]
