"""One of the embedded games on boards (see `environments/games/games.py`), learned for a number of steps."""

from plasticity_lab.benchmarks.bodies.base import OneBodyBenchmark
from plasticity_lab.component import check
from plasticity_lab.environments.games import games
from plasticity_lab.environments.games.games import GAMES, RAMPING, STICKY


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

    def __init__(
        self,
        environment_steps: int,
        game: str = "bricks",
        sticky: float = STICKY,
        ramping: bool = RAMPING,
        full: bool = False,
        tasks: int = 1,
        test_episodes: int = 0,
    ) -> None:
        self.set_lengths(environment_steps, tasks, test_episodes)
        name = check("benchmark.game", game, one_of=tuple(GAMES))
        sticky = check("benchmark.sticky", sticky, at_least=0, below=1)
        body = games.game(name, full, sticky, ramping)
        self.set_body(body, f"{body.name}, sticky {sticky}{', ramping' if ramping else ''}")
