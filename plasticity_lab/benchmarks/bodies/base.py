"""Base classes of benchmarks with bodies that an agent controls: each task is a number of steps with one body.

Legend: K runs, E episodes of a test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.component import as_typed, check, check_limits
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError, DataError


@dataclass(frozen=True)
class Bodies:
    """The bodies of the tasks by name, sorted by first appearance."""

    by_name: Mapping[str, Body]

    @property
    def facts(self) -> dict[str, Any]:
        """Names and versions, for a record's provenance."""
        words = [f"{body.name} {body.version}" for body in self.by_name.values()]
        return {"data": ", ".join(words), "data_part": False}

    @property
    def packages(self) -> list[str]:
        """The Python packages that they need."""
        return list(dict.fromkeys(package for body in self.by_name.values() for package in body.packages))


class BodyBenchmark(Benchmark[Bodies]):
    """Bodies in turn, repeatedly. Final classes define `bodies` (their names) and `outline`.

    environment_steps: steps of a task, all environments of a run together; an agent rounds them up to whole rollouts.
    test_episodes: episodes of a test after each task; 0: no test.
    """

    tasks_are = "bodies in environments"

    bodies: list[str]
    environment_steps: int
    test_episodes: int

    def outline(self) -> Bodies:
        """Its bodies, even if their packages are not installed here."""
        raise NotImplementedError

    def resource(self, folder: Path) -> Bodies:
        """Its bodies; they need no files. Raises DataError if a package that they need is not installed."""
        bodies = self.outline()
        for body in bodies.by_name.values():
            if body.missing:
                raise DataError(
                    f"The body {body.name} needs {' and '.join(body.missing)}, which cannot be found here: "
                    "pip install 'gymnasium[mujoco]', or choose a body that needs none, such as cartpole."
                )
        return bodies

    def verified(self, folder: Path) -> str:
        """A line with the names and versions of the bodies."""
        return f"bodies: {self.resource(folder).facts['data']}, which need no files."

    def __post_init__(self) -> None:
        """Checks the settings.  Raises ConfigError."""
        check_limits(self, "benchmark")
        check("benchmark.environment_steps", self.environment_steps, at_least=1)
        check("benchmark.tasks", self.tasks, at_least=1)
        check("benchmark.test_episodes", self.test_episodes, at_least=0)

    def body_of(self, position: int) -> str:
        """The name of the body of the task at that position."""
        return self.bodies[position % len(self.bodies)]

    def cycle_of(self, position: int) -> int:
        """How many earlier tasks had that body."""
        return position // len(self.bodies)

    def friction_of(self, position: int, seeds: Sequence[int]) -> NDArray[np.float64] | None:
        """The friction factor of each run (K,) in the task at that position; None if the friction is unchanged."""
        return None

    def test_frictions(self, body: Body) -> NDArray[np.float64] | None:
        """The friction factor of each test episode, (E,); None if the benchmark has no test."""
        return np.ones(self.test_episodes) if self.test_episodes else None


def check_some(bodies: Sequence[str], one: str) -> None:
    """Raises ConfigError if no body is named."""
    if not bodies:
        raise ConfigError(f"benchmark.bodies is empty; it must name at least one {one}.")


class OneBodyBenchmark(BodyBenchmark):
    """All tasks have the same body; each begins new episodes. Final classes define `made`."""

    body: Body

    def made(self) -> tuple[Body, str]:
        """The body, and its settings in words.  Raises ConfigError."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        super().__post_init__()
        self.body, words = self.made()
        self.bodies, self.source = [self.body.name], f"{self.body.name}, {words}"

    def outline(self) -> Bodies:
        """The body with these settings."""
        return Bodies({self.body.name: self.body})


class GamesInTurn(BodyBenchmark):
    """Games in turn, repeatedly, each once in a cycle. Final classes define `made`."""

    one: ClassVar[str] = "game"
    """The members of `bodies` in words, for a message."""

    games: Mapping[str, Body]

    def made(self) -> tuple[Sequence[Body], str]:
        """The games, and their settings in words.  Raises ConfigError."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        super().__post_init__()
        check_some(self.bodies, self.one)
        games, words = self.made()
        self.games = {game.name: game for game in games}
        if len(self.games) < len(self.bodies):
            raise ConfigError(
                f"benchmark.bodies is {as_typed(self.bodies)}; each game comes once a cycle, and again in the next "
                "one: benchmark.tasks says how many come in all."
            )
        self.bodies = list(self.games)
        self.source = f"{','.join(self.bodies)}, {words}"

    def outline(self) -> Bodies:
        """The games with these settings."""
        return Bodies(self.games)
