"""Test episodes: how much a pack earns while nothing is learned.

Legend: K runs, E episodes of the test, each in an environment of its own, A numbers of an action.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments

Array = NDArray[np.float64]
Act = Callable[[NDArray[Any]], NDArray[Any]]
"""Observations (K, E, …) as the body shows them → actions (K, E) or (K, E, A), as the body is given them."""


def mean_return(returns: Array) -> Array:
    """Over the episodes (K, E), added up one by one: a run's mean (K,) does not depend on its mates."""
    return np.add.accumulate(returns, axis=1)[:, -1] / returns.shape[1]


def episode_returns(
    body: Body, seeds: Sequence[int], episodes: int, act: Act, frictions: Array | None = None, processes: int = 1
) -> Array:
    """The return of each test episode, (K, E); −∞ where one broke (see `Outcome.broken`).

    seeds: the runs' stream seeds: episodes begin at the same places in every cycle and after every task. act: must
    draw nothing that training draws, and change nothing. frictions: of each episode, (E,), by what to multiply the
    body's; None, and a body without friction: as it is. processes: how many step the environments. Each episode is
    stepped to its end, and as many of the body's steps are taken for all of them as the longest has.
    """
    shape = (len(seeds), episodes)
    own = frictions[None] if frictions is not None and body.has_friction else None
    environments = Environments(body, seeds, episodes, task=0, purpose="test", friction=own, processes=processes)
    returns, over = np.zeros(shape), np.zeros(shape, bool)
    while not over.all():
        outcome = environments.step(act(environments.observations))
        ends = outcome.terminated | outcome.truncated
        ended = np.zeros(shape)
        ended[ends] = outcome.ended.returns
        returns = np.where(ends & ~over, ended, returns)
        over |= ends
    return np.where(np.isfinite(returns), returns, -np.inf)
