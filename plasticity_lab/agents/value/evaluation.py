"""How much a pack earns in test episodes: ε-greedily with an ε of its own, nothing learned, nothing remembered.

Legend: K runs, E episodes of the test, each in an environment of its own.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.evaluation import episode_returns
from plasticity_lab.agents.value.acting import Draws, epsilon_greedy
from plasticity_lab.environments.body import Body


def returns_in_test(
    values: Callable[[NDArray[Any]], NDArray[Any]],
    body: Body,
    stream_seeds: Sequence[int],
    init_seeds: Sequence[int],
    episodes: int,
    epsilon: NDArray[np.float64],
    task: int,
    processes: int = 1,
) -> NDArray[np.float64]:
    """The return of each episode, (K, E); see `episode_returns`.

    values: of all actions in evaluation mode, observations (K, E, ...) → (K, E, A). stream_seeds: say where episodes
    begin; init_seeds: which actions are random. epsilon: (K,). task: after which the test is; each has random actions
    of its own. processes: that step the episodes.
    """
    draws, steps = Draws(init_seeds, episodes, body.actions, "acting in the test", task), count()

    def act(observations: NDArray[Any]) -> NDArray[np.int64]:
        shown = observations if observations.dtype == np.uint8 else np.nan_to_num(observations, posinf=0, neginf=0)
        return epsilon_greedy(values(shown), epsilon, *draws.at(next(steps)))

    return episode_returns(body, stream_seeds, episodes, act, processes=processes)
