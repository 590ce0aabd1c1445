"""What actions are drawn by, on the host: numbers for a whole rollout at once, so that no generator is to be saved.

Legend: K runs, T steps of a rollout, N environments of each run, A actions to choose from, or numbers of an action.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body
from plasticity_lab.randomness.host import host_stream

Array = NDArray[Any]


def action_noise(body: Body, seeds: Sequence[int], first: int, steps: int, environments: int) -> Array:
    """(K, T, N, A): a Gumbel number for each choice, or a normal one for each number of an action.

    A function of a run's seed and of `first`, its steps before the rollout, alone.
    """
    shape = (steps, environments, body.actions)

    def of(seed: int) -> Array:
        stream = host_stream(seed, "acting", first)
        return stream.gumbel(size=shape) if body.discrete else stream.standard_normal(shape, np.float32)

    return np.stack([of(seed) for seed in seeds])
