"""Rings that are filled by hand, or by acting in environments."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.environments import Environments
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.replay.ring import Index, Ring


def at(steps: Sequence[Sequence[int]], environment: int = 0) -> Index:
    """These steps of one environment, (K, B)."""
    step = np.array(steps)
    return Index(step, np.full_like(step, environment))


def fill(
    ring: Ring,
    steps: Iterable[int],
    *,
    rewards: Mapping[int, float] | None = None,
    terminated: Collection[int] = (),
    truncated: Collection[int] = (),
    life_lost: Collection[int] = (),
    first: Collection[int] = (),
) -> None:
    """Adds steps of one run in one environment: step t has frame t % 256, action t % 2, and reward t or as given."""
    one = (1, 1)
    for step in steps:
        ring.add(
            np.full((*one, *ring.body.frame), step % 256, ring.body.dtype),
            np.full(one, step % 2),
            np.full(one, float(step) if rewards is None else rewards.get(step, 0.0)),
            *(np.full(one, step in flag) for flag in (terminated, truncated, life_lost, first)),
        )


def drawn_at_random(
    ring: Ring, draw: np.random.Generator, ended: NDArray[np.bool_], never_ends: bool = False
) -> NDArray[np.bool_]:
    """Adds a step of every environment whose flags are drawn, and returns which episodes have ended with it, (K, N).

    ended: those that the step before has ended; an episode may also be broken off without a flag that says so.
    """
    shape = (ring.runs, ring.environments)
    flags = [np.zeros(shape, np.bool_)] * 3 if never_ends else list(draw.random((3, *shape)) < 0.15)
    terminated, truncated, life_lost = flags
    broken_off = np.zeros(shape, np.bool_) if never_ends else draw.random(shape) < 0.05
    truncated &= ~terminated
    ring.add(
        np.zeros((*shape, *ring.body.frame), ring.body.dtype), np.zeros(shape, int), np.zeros(shape), terminated,
        truncated, life_lost, ended,
    )  # fmt: skip
    return terminated | truncated | broken_off


def acted(ring: Ring, environments: Environments, seeds: Sequence[int], steps: int, first: int = 0) -> list[Any]:
    """Adds steps of environments, whose actions depend on whose they are and when alone; what was shown before each."""
    body, shown = environments.body, []
    for step in range(first, first + steps):
        observations, begins = environments.observations, environments.first
        count = observations.shape[1]
        draws = [host_stream(seed, "test", step) for seed in seeds]
        actions = np.array([draw.integers(body.actions, size=count) for draw in draws])
        outcome = environments.step(actions)
        flags = (outcome.terminated, outcome.truncated, outcome.life_lost, begins)
        ring.add(body.newest(observations), actions, outcome.rewards, *flags)
        shown.append(observations)
    return shown
