"""The bodies of a list in turn, repeatedly; the friction of a task can be drawn, for bodies that have any.

Legend: K runs, E episodes of a test.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark, check_some
from plasticity_lab.component import as_typed, setting, with_settings
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream


@with_settings
class BodyCycle(BodyBenchmark):
    """The bodies in turn, repeatedly, until `tasks` tasks have been learned; each for `environment_steps` steps.

    If there are more tasks than bodies, bodies come again in later cycles, as in Section 7. A list may also name a body
    twice.

    environment_steps: steps of all environments of a run together; an agent rounds them up to whole rollouts.
    friction_range: the friction factor of each task is drawn from this range, log-uniformly; null: friction is
        unchanged.
    test_episodes: episodes of a test after each task, for each friction factor; 0: no test.
    test_factors: number of friction factors in the test. They are fixed; a body without friction is tested once.
    test_range: range of these factors.
    """

    neutral = {"friction_range": None, "test_episodes": 0}
    read_if = dict.fromkeys(("test_factors", "test_range"), ("test_episodes", bool))

    bodies: list[str]
    tasks: int
    environment_steps: int
    friction_range: list[float] | str | None = None
    test_episodes: int = 0
    test_factors: int = setting(10, at_least=1)
    test_range: list[float] | str = (0.2, 2.0)  # pyright: ignore[reportAssignmentType]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_some(self.bodies, "body")
        self.source = ",".join(self.bodies)
        bodies = [body_named(name) for name in self.bodies]
        if self.friction_range is not None:
            self.friction_range = checked_range("benchmark.friction_range", self.friction_range)
            if smooth := [body.name for body in bodies if not body.has_friction]:
                raise ConfigError(
                    f"benchmark.friction_range needs bodies that have friction, and {smooth[0]} has none; leave it "
                    "null, or choose others."
                )
        self.test_range = checked_range("benchmark.test_range", self.test_range)

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Ranges as numbers; settings of the test count only if there is one."""
        seen = super().canonical(settings)
        if not settings["test_episodes"]:
            seen = {name: value for name, value in seen.items() if name not in ("test_factors", "test_range")}
        ranges = [name for name in ("friction_range", "test_range") if name in seen]
        return seen | {name: checked_range(f"benchmark.{name}", seen[name]) for name in ranges}

    def outline(self) -> Bodies:
        """Its bodies, even if their packages are not installed here."""
        return Bodies({name: body_named(name) for name in self.bodies})

    def friction_of(self, position: int, seeds: Sequence[int]) -> NDArray[np.float64] | None:
        """The friction factor of each run (K,) in the task at that position; None if the friction is unchanged."""
        if self.friction_range is None:
            return None
        drawn = [drawn_factors(host_stream(seed, "friction", position), 1, self.friction_range) for seed in seeds]
        return np.concatenate(drawn)

    def test_frictions(self, body: Body) -> NDArray[np.float64] | None:
        """The friction factor of each test episode, (E,), factor after factor; None if the benchmark has no test.

        For a body without friction, all factors are 1.
        """
        if not self.test_episodes:
            return None
        # The draw is independent of all others, and equal for all runs, bodies and cycles.
        stream = host_stream(0, "test friction")
        factors = drawn_factors(stream, self.test_factors, self.test_range) if body.has_friction else np.ones(1)
        return np.repeat(factors, self.test_episodes)


# Friction factors: one drawn for each task, and a fixed set for the test.
#
# Dohare et al. 2024 draw the friction of their Slippery Ant log-uniformly from [0.02, 2].

RANGES = {"dohare_range": [0.02, 2.0]}
"""Named ranges."""


def checked_range(name: str, value: Any) -> list[float]:
    """The lowest and the highest factor of a setting, which is a pair of numbers or a named range. Raises
    ConfigError.
    """
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


def drawn_factors(stream: np.random.Generator, count: int, within: Any) -> NDArray[np.float64]:
    """Log-uniform numbers, (count,).  within: a checked range."""
    low, high = map(math.log, within)
    return np.exp(stream.uniform(low, high, count))
