"""The embedded board games in turn, repeatedly: one network and one set of actions, with no input that names the
game.
"""

from collections.abc import Sequence

from plasticity_lab.benchmarks.bodies.base import GamesInTurn
from plasticity_lab.component import check, setting, with_settings
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.games.games import GAMES, RAMPING, STICKY, game


@with_settings
class GamesCycle(GamesInTurn):
    """The games in turn, repeatedly, until `tasks` tasks have been learned; each for `environment_steps` steps.

    All games have the same number of channels (missing ones are 0) and all six actions, so one network with one head
    learns them all. The board is the only sign of the current game. The agent's replay memory is kept from game to
    game, unless the agent clears it. Source: in the manner of Abbas et al. 2023, who had Rainbow play Atari games in
    turn.

    bodies: the games, each once.
    environment_steps: steps of all environments of a run together; an agent rounds them up.
    sticky, ramping: as in `Games`.
    test_episodes: test episodes of each run after each task; 0: no test.
    """

    tasks_are = "games on a board, in turn"
    one = f"game of {', '.join(GAMES)}"

    bodies: list[str]
    tasks: int
    environment_steps: int
    sticky: float = setting(STICKY, at_least=0, below=1)
    ramping: bool = RAMPING
    test_episodes: int = 0

    def made(self) -> tuple[Sequence[Body], str]:
        """The games."""
        for name in self.bodies:
            check("each of benchmark.bodies", name, one_of=tuple(GAMES))
        games = [game(name, True, self.sticky, self.ramping) for name in self.bodies]
        return games, f"sticky {self.sticky}{', ramping' if self.ramping else ''}"
