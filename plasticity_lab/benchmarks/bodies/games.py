"""One of the embedded games on boards (see `environments/games/games.py`), learned for a number of steps."""

from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.component import check
from plasticity_lab.environments.games import games
from plasticity_lab.environments.games.games import GAMES, RAMPING, STICKY


class Games(BodyBenchmark):
    """`tasks` tasks, all of them the same game; each begins new episodes.

    game: bricks, invaders, crossing or gathering. environment_steps: of a task, all environments of a run together; an
    agent rounds them up to whole rollouts. sticky: how likely an action is not taken and the last one is taken again.
    ramping: whether a game becomes harder as it goes on. full: whether it has all six actions and as many channels as
    the game with most, as in games_cycle. test_episodes: of each run, after each task; 0: no test.
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
        self.environment_steps = check("benchmark.environment_steps", environment_steps, at_least=1)
        name = check("benchmark.game", game, one_of=tuple(GAMES))
        sticky = check("benchmark.sticky", sticky, at_least=0, below=1)
        self.tasks = check("benchmark.tasks", tasks, at_least=1)
        self.test_episodes = check("benchmark.test_episodes", test_episodes, at_least=0)
        self.body = games.game(name, full, sticky, ramping)
        self.bodies = [self.body.name]
        self.source = f"{self.body.name}, sticky {sticky}{', ramping' if ramping else ''}"

    def outline(self) -> Bodies:
        """The game, as these settings have it."""
        return Bodies({self.body.name: self.body})
