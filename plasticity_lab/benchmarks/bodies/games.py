"""One of the embedded games on boards (see `environments/games/games.py`), learned for a number of steps."""

from plasticity_lab.benchmarks.bodies.base import OneBodyBenchmark
from plasticity_lab.component import setting, with_settings
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.games import games
from plasticity_lab.environments.games.games import GAMES, RAMPING, STICKY


@with_settings
class Games(OneBodyBenchmark):
    """`tasks` tasks, all of them the same game; each begins new episodes.

    game: bricks, invaders, crossing or gathering.
    environment_steps: steps of a task, all environments of a run together; an agent rounds them up to whole rollouts.
    sticky: probability that the last action is repeated instead of the chosen one.
    ramping: whether a game becomes harder as it goes on.
    full: whether it has all six actions and the largest number of channels of all games, as in games_cycle.
    test_episodes: test episodes of each run after each task; 0: no test.
    """

    tasks_are = "games on a board"

    environment_steps: int
    game: str = setting("bricks", one_of=tuple(GAMES))
    sticky: float = setting(STICKY, at_least=0, below=1)
    ramping: bool = RAMPING
    full: bool = False
    tasks: int = 1
    test_episodes: int = 0

    def made(self) -> tuple[Body, str]:
        """The game."""
        body = games.game(self.game, self.full, self.sticky, self.ramping)
        return body, f"sticky {self.sticky}{', ramping' if self.ramping else ''}"
