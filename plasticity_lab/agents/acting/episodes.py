"""Episodes: training episodes that ended, as rows of metrics, and test episodes, which are not learned from.

Legend: K runs, E episodes of a test, each in a separate environment, A numbers of an action.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Ended, Environments
from plasticity_lab.records.rows import Episodes

Array = NDArray[np.float64]
Act = Callable[[NDArray[Any]], NDArray[Any]]
"""Observations (K, E, …) from the body → actions (K, E) or (K, E, A) for the body."""


def episodes_of(ended: Sequence[tuple[Ended, int]]) -> Episodes:
    """The episodes that ended, with their runs and steps, in chronological order.

    ended: the episodes that ended in a step, and the run's steps by then, all its environments together.
    """
    if not ended:
        nothing = np.zeros(0, np.int64)
        return Episodes(nothing, nothing, {"return": np.zeros(0), "length": np.zeros(0)})
    return Episodes(
        np.concatenate([episodes.run for episodes, _ in ended]),
        np.concatenate([np.full(len(episodes.run), step) for episodes, step in ended]),
        {
            "return": np.concatenate([episodes.returns for episodes, _ in ended]),
            "length": np.concatenate([episodes.lengths for episodes, _ in ended]).astype(np.float64),
        },
    )


def mean_return(returns: Array) -> Array:
    """The mean over the episodes (K, E), added one by one: a run's mean (K,) does not depend on the other runs."""
    return np.add.accumulate(returns, axis=1)[:, -1] / returns.shape[1]


def episode_returns(body: Body, seeds: Sequence[int], frictions: Array, act: Act, processes: int = 1) -> Array:
    """The return of each test episode, (K, E); −∞ if the episode broke (see `Outcome.broken`).

    seeds: the runs' stream seeds. Episodes have the same initial states in every cycle and after every task.
    frictions: the friction factor of each episode, (E,); a body without friction ignores it.
    act: must not change any state, nor draw numbers that training draws.
    processes: number of processes that step the environments.
    All environments are stepped until the longest episode has ended.
    """
    shape = (len(seeds), len(frictions))
    friction = frictions[None] if body.has_friction else None
    environments = Environments(body, seeds, shape[1], task=0, purpose="test", friction=friction, processes=processes)
    returns, over = np.zeros(shape), np.zeros(shape, bool)
    while not over.all():
        outcome = environments.step(act(environments.observations))
        ends = outcome.terminated | outcome.truncated
        ended = np.zeros(shape)
        ended[ends] = outcome.ended.returns
        returns = np.where(ends & ~over, ended, returns)
        over |= ends
    return np.where(np.isfinite(returns), returns, -np.inf)


def finite_or_zero(values: NDArray[Any]) -> NDArray[Any]:
    """The values, with 0 in place of values that are not finite; pixels are always finite."""
    if values.dtype == np.uint8:
        return values
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, 0).astype(values.dtype)
