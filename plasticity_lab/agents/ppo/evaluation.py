"""How much a pack's policies earn in test episodes: likeliest actions, nothing drawn, nothing learned.

Legend: K runs, E episodes of the test, each in an environment of its own, D numbers of an observation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.evaluation import episode_returns
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.environments.body import Body

Array = NDArray[np.float64]


def returns_in_test(
    network: PackedNetwork,
    body: Body,
    seeds: Sequence[int],
    frictions: Array,
    normaliser: Normaliser | None,
    clip_action: bool,
    processes: int = 1,
) -> Array:
    """The return of each episode of the test, (K, E); see `episode_returns`.

    frictions: of each episode, (E,), by what to multiply it. normaliser: scales what the body shows by the statistics
    of its training, which stay as they are; None where observations are not normalised. processes: that step the
    episodes. The policy takes its likeliest action, randomised activations their mean slope.
    """

    def act(observations: NDArray[np.float32]) -> NDArray[np.float32] | NDArray[np.int64]:
        return likeliest(network, body, observations, normaliser, clip_action)

    return episode_returns(body, seeds, len(frictions), act, frictions, processes)


def likeliest(
    network: PackedNetwork, body: Body, observations: NDArray[np.float32], normaliser: Normaliser | None, clips: bool
) -> NDArray[np.float32] | NDArray[np.int64]:
    """Observations (K, E, …) as the body shows them → the likeliest actions (K, E) or (K, E, A), as it is given them.

    clips: whether actions are kept within the body's bounds, where it has any.
    """
    flat = _finite(observations.reshape(*observations.shape[:2], -1))
    policy = _finite(network.answers(flat if normaliser is None else normaliser.scaled(flat), body.name)["policy"])
    if body.discrete:
        return policy.argmax(axis=2)
    return np.clip(policy, *np.array(body.bounds, np.float32)) if clips else policy


def _finite(values: NDArray[Any]) -> NDArray[Any]:
    """With 0 for what is not finite, as while a run is trained; in their own type."""
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, 0).astype(values.dtype)
