"""The bodies of a list in turn, over and over, each under a friction of its own where it has any.

Legend: K runs, E episodes of a test.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.bodies import friction
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.component import check
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError


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
        self.tasks = check("benchmark.tasks", tasks, at_least=1)
        self.environment_steps = check("benchmark.environment_steps", environment_steps, at_least=1)
        self.friction_range = friction_range
        if friction_range is not None:
            self.friction_range = friction.checked_range("benchmark.friction_range", friction_range)
            if smooth := [name for name in bodies if not body_named(name).has_friction]:
                raise ConfigError(
                    f"benchmark.friction_range needs bodies that have friction, and {smooth[0]} has none; leave it "
                    "null, or choose others."
                )
        self.test_episodes = check("benchmark.test_episodes", test_episodes, at_least=0)
        self.test_factors = check("benchmark.test_factors", test_factors, at_least=1)
        self.test_range = friction.checked_range("benchmark.test_range", test_range)

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Ranges in numbers; what a test is like counts only where there is one."""
        seen = super().canonical(settings)
        if not settings["test_episodes"]:
            seen = {name: value for name, value in seen.items() if name not in ("test_factors", "test_range")}
        ranges = [name for name in ("friction_range", "test_range") if name in seen]
        return seen | {name: friction.checked_range(f"benchmark.{name}", seen[name]) for name in ranges}

    def outline(self) -> Bodies:
        """Its bodies, whether or not the packages that they are made of are installed here."""
        return Bodies({name: body_named(name) for name in self.bodies})

    def friction_of(self, position: int, seeds: Sequence[int]) -> NDArray[np.float64] | None:
        """The factor of friction of each run (K,) in the task at that position; None where it is the body's own."""
        return None if self.friction_range is None else friction.of_task(seeds, position, self.friction_range)

    def test_frictions(self, body: Body) -> NDArray[np.float64] | None:
        """The factor of friction of each episode of the test, (E,), factor after factor; None where there is no test.

        Factors of 1 for a body without friction.
        """
        if not self.test_episodes:
            return None
        factors = friction.of_test(self.test_factors, self.test_range) if body.has_friction else np.ones(1)
        return np.repeat(factors, self.test_episodes)
