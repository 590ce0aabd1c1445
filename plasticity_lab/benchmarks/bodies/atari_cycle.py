"""Atari games in turn, repeatedly: one network and all 18 actions, with no input that names the game."""

from plasticity_lab.benchmarks.bodies.base import GamesInTurn
from plasticity_lab.component import check
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import MAX_STEPS, STICKY, spellings
from plasticity_lab.errors import ConfigError


class AtariCycle(GamesInTurn):
    """The games in turn, repeatedly, until `tasks` tasks have been learned; each for `environment_steps` steps.

    The agent's replay memory is kept from game to game, unless the agent clears it. Source: Abbas et al. 2023, who had
    Rainbow play Atari games in turn.

    bodies: the games by their names in ale-py, each once; a command may use any of their `spellings`.
    environment_steps: steps of all environments of a run together; an agent rounds them up.
    sticky, max_steps: as in `Atari`.
    test_episodes: test episodes of each run after each task; 0: no test.
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
        self.set_lengths(environment_steps, tasks, test_episodes)
        games = [atari(name, sticky, True, 0, max_steps) for name in bodies]
        self.set_games(games, bodies, f"sticky {sticky}, all actions")
