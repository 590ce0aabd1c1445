"""Atari games in turn, over and over: one network, all 18 actions, no sign of which game it is."""

from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.component import as_typed, check
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import MAX_STEPS, STICKY, spellings
from plasticity_lab.errors import ConfigError


class AtariCycle(BodyBenchmark):
    """The games in turn, over and over, until `tasks` tasks have been learned; each for `environment_steps` steps.

    What an agent remembers goes on from game to game, unless the agent says otherwise. Source: Abbas et al. 2023, who
    had Rainbow play Atari games in turn.

    bodies: the games, as ale-py calls them, each once; a command may use any of their `spellings`. environment_steps:
    of all environments of a run together; an agent rounds them up. sticky, max_steps: as of `Atari`. test_episodes: of
    each run, after each task; 0: no test.
    """

    tasks_are = "Atari games, in turn"
    named_values = {"bodies": spellings()}

    def __init__(
        self,
        bodies: list[str],
        tasks: int,
        environment_steps: int,
        sticky: float = STICKY,
        max_steps: int = MAX_STEPS,
        test_episodes: int = 0,
    ) -> None:
        if not bodies:
            raise ConfigError("benchmark.bodies is empty; it must name at least one game.")
        sticky = check("benchmark.sticky", sticky, at_least=0, below=1)
        max_steps = check("benchmark.max_steps", max_steps, at_least=1)
        self.tasks = check("benchmark.tasks", tasks, at_least=1)
        self.environment_steps = check("benchmark.environment_steps", environment_steps, at_least=1)
        self.test_episodes = check("benchmark.test_episodes", test_episodes, at_least=0)
        self.games = {each.name: each for each in (atari(name, sticky, True, 0, max_steps) for name in bodies)}
        self.bodies = list(self.games)
        if len(self.bodies) < len(bodies):
            raise ConfigError(
                f"benchmark.bodies is {as_typed(bodies)}; each game comes once a cycle, and again in the next one: "
                "benchmark.tasks says how many come in all."
            )
        self.source = f"{','.join(self.bodies)}, sticky {sticky}, all actions"

    def outline(self) -> Bodies:
        """The games, as these settings have them."""
        return Bodies(self.games)
