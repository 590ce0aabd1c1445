"""What scales a run's observations and rewards, as it is kept beside the run's weights.

Legend: K runs, D numbers of an observation.
"""

from collections.abc import Collection, Mapping
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import StoreError


def kept_of(normalisers: Mapping[str, Normaliser], scales: Collection[str]) -> dict[str, Tensor]:
    """Mean, variance and count of each body, `<body>.<observations or rewards>.<mean, variance or count>` → (K, ...).

    normalisers: by body. scales: which of observations and rewards are normalised. Where the discounted sums of running
    episodes stand is no part of it: an episode that begins later begins with 0.
    """
    return {
        f"{body}.{name}": torch.tensor(value)
        for body, normaliser in normalisers.items()
        for name, value in scaling(normaliser, scales).items()
    }


def normalisers_from(
    kept: Mapping[str, Tensor], bodies: Mapping[str, Body], scales: Collection[str]
) -> dict[str, Normaliser]:
    """Body → its statistics, of one run that `kept_of` has kept and of which the run axis is gone.

    Raises StoreError where they are not those of these bodies.
    """
    normalisers = {name: Normaliser(1, 1, (prod(body.observation),)) for name, body in bodies.items()}
    wanted = {name: (value.shape[1:], value.dtype) for name, value in kept_of(normalisers, scales).items()}
    there = {name: (value.shape, value.dtype) for name, value in kept.items()}
    if wanted != there:
        names = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        raise StoreError(f"They are not those of the bodies {', '.join(bodies)} ({', '.join(names)}).")
    for body, normaliser in normalisers.items():
        own = {name: kept[f"{body}.{name}"].unsqueeze(0).numpy() for name in scaling(normaliser, scales)}
        normaliser.load(normaliser.state() | own)
    return normalisers


def scaling(normaliser: Normaliser, scales: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """One body's statistics, `<observations or rewards>.<mean, variance or count>` → (K, ...): copies."""
    return {name: value for name, value in normaliser.state().items() if name.partition(".")[0] in scales}
