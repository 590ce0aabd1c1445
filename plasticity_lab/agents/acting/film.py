"""A film: the frames of one test episode of each run, for people; no number of a run depends on it.

Legend: K runs, T frames, D a frame's shape (`Body.frame`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.episodes import Act
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments

MOST = 1_000
"""The number of steps in a film, at most: an Atari episode may have 27,000."""


def filmed(body: Body, seeds: Sequence[int], act: Act) -> list[NDArray[Any]]:
    """For each run the frames of its episode from the first to the last, (T, *D); at most `MOST` steps.

    seeds: the runs' stream seeds. The purpose differs from tests and training, and so do the initial states. act: as in
    `episode_returns`. A run's frames do not depend on the other runs.
    """
    environments = Environments(body, seeds, 1, task=0, purpose="film")
    frames = [[frame] for frame in body.newest(environments.observations)[:, 0]]
    over = np.zeros(len(seeds), np.bool_)
    for _ in range(MOST):
        outcome = environments.step(act(environments.observations))
        for k in np.flatnonzero(~over).tolist():
            frames[k].append(body.newest(outcome.last)[k, 0].copy())
        over |= (outcome.terminated | outcome.truncated)[:, 0]
        if over.all():
            break
    return [np.stack(of_run) for of_run in frames]
