"""A film: one test episode of each run as pictures, for people; no number of a run depends on it.

Legend: T steps, C channels or colours, H × W cells or pixels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.episodes import Act
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments

MOST, MOST_DRAWN = 1_000, 300
"""The number of steps in a film, at most: an Atari episode may have 27,000, and drawing MuJoCo takes milliseconds."""


def filmed(body: Body, seeds: Sequence[int], act: Act) -> list[NDArray[Any]]:
    """For each run a picture of each step of its episode, (T, C, H, W).  Raises ConfigError if none can be drawn here.

    seeds: the runs' stream seeds. The purpose differs from tests and training, and so do the initial states. act: as in
    `episode_returns`. A run's pictures do not depend on the other runs.
    """
    environments = Environments(body, seeds, 1, task=0, purpose="film")
    pictures: list[list[NDArray[Any]]] = [[] for _ in seeds]
    over = np.zeros(len(seeds), np.bool_)
    for _ in range(MOST_DRAWN if body.is_drawn else MOST):
        shown = environments.pictures()
        for k in np.flatnonzero(~over).tolist():
            pictures[k].append(shown[k, 0].copy())
        outcome = environments.step(act(environments.observations))
        ends = (outcome.terminated | outcome.truncated)[:, 0]
        if not body.is_drawn:  # a drawing would show the next episode
            for k in np.flatnonzero(ends & ~over).tolist():
                pictures[k].append(body.newest(outcome.last)[k, 0].copy())
        over |= ends
        if over.all():
            break
    return [np.stack(of_run) for of_run in pictures]
