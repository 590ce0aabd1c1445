"""Base classes of benchmarks with bodies that an agent controls: each task is a number of steps with one body.

Legend: K runs, E episodes of a test.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.component import as_typed, check
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

    def set_lengths(self, environment_steps: int, tasks: int, test_episodes: int) -> None:
        """Checks and sets these settings. Raises ConfigError."""
        self.environment_steps = check("benchmark.environment_steps", environment_steps, at_least=1)
        self.tasks = check("benchmark.tasks", tasks, at_least=1)
        self.test_episodes = check("benchmark.test_episodes", test_episodes, at_least=0)

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


class OneBodyBenchmark(BodyBenchmark):
    """All tasks have the same body; each begins new episodes. The constructor of a final class ends with `set_body`."""

    body: Body

    def set_body(self, body: Body, source: str) -> None:
        """Sets the body. source: the body and its settings in words."""
        self.body, self.bodies, self.source = body, [body.name], source

    def outline(self) -> Bodies:
        """The body with these settings."""
        return Bodies({self.body.name: self.body})


class GamesInTurn(BodyBenchmark):
    """Games in turn, repeatedly, each once in a cycle. The constructor of a final class ends with `set_games`."""

    games: Mapping[str, Body]

    def set_games(self, games: Iterable[Body], named: Sequence[str], source: str) -> None:
        """Sets the games. named: the names given on the command line. source: their settings in words.

        Raises ConfigError if a game is named twice.
        """
        self.games = {game.name: game for game in games}
        self.bodies = list(self.games)
        if len(self.bodies) < len(named):
            raise ConfigError(
                f"benchmark.bodies is {as_typed(named)}; each game comes once a cycle, and again in the next one: "
                "benchmark.tasks says how many come in all."
            )
        self.source = f"{','.join(self.bodies)}, {source}"

    def outline(self) -> Bodies:
        """The games with these settings."""
        return Bodies(self.games)
