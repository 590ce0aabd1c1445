"""How much a pack's policies earn where friction is another: likeliest actions, nothing drawn, nothing learned.

Legend: K runs, E episodes of the test, each in an environment of its own, D numbers of an observation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments

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
    """The mean return of each run (K,) over the test; −∞ where an episode broke.  See `episodes_in_test`."""
    return mean_return(episodes_in_test(network, body, seeds, frictions, normaliser, clip_action, processes))


def mean_return(returns: Array) -> Array:
    """Over the episodes (K, E), added up one by one: a run's mean does not depend on its mates."""
    return np.add.accumulate(returns, axis=1)[:, -1] / returns.shape[1]


def episodes_in_test(
    network: PackedNetwork,
    body: Body,
    seeds: Sequence[int],
    frictions: Array,
    normaliser: Normaliser | None,
    clip_action: bool,
    processes: int = 1,
) -> Array:
    """The return of each episode of the test, (K, E); −∞ where one broke (see `Outcome.broken`).

    frictions: of each episode, (E,), by what to multiply it. normaliser: scales what the body shows by the statistics
    of its training, which stay as they are; None where observations are not normalised. processes: that step the
    episodes. The policy takes its likeliest action, randomised activations their mean slope. Episodes begin at the same
    places in every cycle and after every task. Each is stepped to its end, and as many of the body's steps are taken
    for all of them as the longest has.
    """
    shape = (len(seeds), len(frictions))
    own = frictions[None] if body.has_friction else None
    environments = Environments(body, seeds, shape[1], task=0, purpose="test", friction=own, processes=processes)
    returns, over = np.zeros(shape), np.zeros(shape, bool)
    while not over.all():
        outcome = environments.step(likeliest(network, body, environments.observations, normaliser, clip_action))
        ends = outcome.terminated | outcome.truncated
        ended = np.zeros(shape)
        ended[ends] = outcome.ended.returns
        returns = np.where(ends & ~over, ended, returns)
        over |= ends
    return np.where(np.isfinite(returns), returns, -np.inf)


def likeliest(
    network: PackedNetwork, body: Body, observations: NDArray[Any], normaliser: Normaliser | None, clips: bool
) -> NDArray[np.float32] | NDArray[np.int64]:
    """Observations (K, E, …) as the body shows them → the likeliest actions (K, E) or (K, E, A), as it is given them.

    clips: whether actions are kept within the body's bounds, where it has any.
    """
    flat = _finite(observations.reshape(*observations.shape[:2], -1))
    policy = _finite(network.answers(flat if normaliser is None else normaliser.scaled(flat), body.name)["policy"])
    if body.discrete:
        return policy.argmax(axis=2)
    return np.clip(policy, np.float32(body.low), np.float32(body.high)) if clips else policy


def _finite(values: NDArray[Any]) -> NDArray[Any]:
    """With 0 for what is not finite, as while a run is trained."""
    if values.dtype == np.uint8:
        return values
    return np.where(np.isfinite(values), values, np.float32(0))
