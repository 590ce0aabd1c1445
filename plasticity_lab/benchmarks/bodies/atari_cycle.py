"""Atari games in turn, repeatedly: one network and all 18 actions, with no input that names the game."""

from collections.abc import Sequence

from plasticity_lab.benchmarks.bodies.base import GamesInTurn
from plasticity_lab.component import setting, with_settings
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import MAX_STEPS, STICKY, spellings
from plasticity_lab.environments.body import Body


@with_settings
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

    bodies: list[str]
    tasks: int
    environment_steps: int
    sticky: float = setting(STICKY, at_least=0, below=1)
    max_steps: int = setting(MAX_STEPS, at_least=1)
    test_episodes: int = 0

    def made(self) -> tuple[Sequence[Body], str]:
        """The games."""
        games = [atari(name, self.sticky, True, 0, self.max_steps) for name in self.bodies]
        return games, f"sticky {self.sticky}, all actions"
