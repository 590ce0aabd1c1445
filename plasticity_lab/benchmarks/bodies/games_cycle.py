"""The embedded board games in turn, repeatedly: one network and one set of actions, with no input that names the
game.
"""

from plasticity_lab.benchmarks.bodies.base import GamesInTurn
from plasticity_lab.component import check
from plasticity_lab.environments.games.games import GAMES, RAMPING, STICKY, game
from plasticity_lab.errors import ConfigError


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

    def __init__(
        self,
        bodies: list[str],
        tasks: int,
        environment_steps: int,
        sticky: float = STICKY,
        ramping: bool = RAMPING,
        test_episodes: int = 0,
    ) -> None:
        if not bodies:
            raise ConfigError(f"benchmark.bodies is empty; it must name at least one game of {', '.join(GAMES)}.")
        for name in bodies:
            check("each of benchmark.bodies", name, one_of=tuple(GAMES))
        sticky = check("benchmark.sticky", sticky, at_least=0, below=1)
        self.set_lengths(environment_steps, tasks, test_episodes)
        games = [game(name, True, sticky, ramping) for name in bodies]
        self.set_games(games, bodies, f"sticky {sticky}{', ramping' if ramping else ''}")
