"""The bodies of a list in turn, over and over, each under a friction of its own where it has any.

Legend: K runs, E episodes of a test.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.component import as_typed, check
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream


class BodyCycle(BodyBenchmark):
    """The bodies in turn, over and over, until `tasks` tasks have been learned; each for `environment_steps` steps.

    environment_steps: of all environments of a run together; an agent rounds them up to whole rollouts. Where tasks are
    more than bodies, a body comes again in a later cycle, as Section 7 has it; within a cycle it may come twice.
    friction_range: between which the factor of friction of each task is drawn, log-uniformly; null: friction is the
    body's own.

    After each task an agent may be tested: for test_episodes episodes under each of test_factors factors of friction,
    fixed ones from test_range (a body without friction: as it is). test_episodes 0: there is no test.
    """

    neutral = {"friction_range": None, "test_episodes": 0}
    read_if = dict.fromkeys(("test_factors", "test_range"), ("test_episodes", bool))

    def __init__(
        self,
        bodies: list[str],
        tasks: int,
        environment_steps: int,
        friction_range: list[float] | str | None = None,
        test_episodes: int = 0,
        test_factors: int = 10,
        test_range: list[float] | str = (0.2, 2.0),
    ) -> None:
        if not bodies:
            raise ConfigError("benchmark.bodies is empty; it must name at least one body.")
        for name in bodies:
            body_named(name)
        self.bodies = bodies
        self.source = ",".join(bodies)
        self.set_lengths(environment_steps, tasks, test_episodes)
        self.friction_range: list[float] | None = None
        if friction_range is not None:
            self.friction_range = checked_range("benchmark.friction_range", friction_range)
            if smooth := [name for name in bodies if not body_named(name).has_friction]:
                raise ConfigError(
                    f"benchmark.friction_range needs bodies that have friction, and {smooth[0]} has none; leave it "
                    "null, or choose others."
                )
        self.test_factors = check("benchmark.test_factors", test_factors, at_least=1)
        self.test_range = checked_range("benchmark.test_range", test_range)

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Ranges in numbers; what a test is like counts only where there is one."""
        seen = super().canonical(settings)
        if not settings["test_episodes"]:
            seen = {name: value for name, value in seen.items() if name not in ("test_factors", "test_range")}
        ranges = [name for name in ("friction_range", "test_range") if name in seen]
        return seen | {name: checked_range(f"benchmark.{name}", seen[name]) for name in ranges}

    def outline(self) -> Bodies:
        """Its bodies, whether or not the packages that they are made of are installed here."""
        return Bodies({name: body_named(name) for name in self.bodies})

    def friction_of(self, position: int, seeds: Sequence[int]) -> NDArray[np.float64] | None:
        """The factor of friction of each run (K,) in the task at that position; None where it is the body's own."""
        return None if self.friction_range is None else frictions_of_task(seeds, position, self.friction_range)

    def test_frictions(self, body: Body) -> NDArray[np.float64] | None:
        """The factor of friction of each episode of the test, (E,), factor after factor; None where there is no test.

        Factors of 1 for a body without friction.
        """
        if not self.test_episodes:
            return None
        factors = frictions_of_test(self.test_factors, self.test_range) if body.has_friction else np.ones(1)
        return np.repeat(factors, self.test_episodes)


# Factors of friction: one drawn for each task, and a fixed set for the test.
#
# Dohare et al. 2024 draw the friction of their Slippery Ant log-uniformly from [0.02, 2].

RANGES = {"dohare_range": [0.02, 2.0]}
"""Named ranges."""


def checked_range(name: str, value: Any) -> list[float]:
    """The lowest and the highest factor that a setting names, in numbers or by a word.  Raises ConfigError."""
    if isinstance(value, str) and value in RANGES:
        return RANGES[value]
    try:
        low, high = map(float, value)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < low <= high < math.inf:
        raise ConfigError(
            f"{name} is {as_typed(value)}; it must be the lowest and the highest factor, as in [0.2, 2.0], both above "
            f"0, or {' or '.join(RANGES)}."
        )
    return [low, high]


def frictions_of_task(seeds: Sequence[int], position: int, within: Sequence[float]) -> NDArray[np.float64]:
    """The factor of each run (K,) in the task at that position: a function of the two and of the run's stream seed."""
    return np.array([_drawn(host_stream(seed, "friction", position), 1, within)[0] for seed in seeds])


def frictions_of_test(count: int, within: Sequence[float]) -> NDArray[np.float64]:
    """The factors of the test, (count,): the same for all runs, bodies and cycles, and drawn for nothing else."""
    return _drawn(host_stream(0, "test friction"), count, within)


def _drawn(stream: np.random.Generator, count: int, within: Sequence[float]) -> NDArray[np.float64]:
    """Log-uniform."""
    low, high = map(math.log, within)
    return np.exp(stream.uniform(low, high, count))
