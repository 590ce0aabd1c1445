"""The game of Catch (see `environments/games/catch.py`), learned for a number of steps."""

from plasticity_lab.benchmarks.bodies.base import OneBodyBenchmark
from plasticity_lab.component import setting, with_settings
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.games.catch import catch


@with_settings
class Catch(OneBodyBenchmark):
    """`tasks` tasks, all of them the same game; each begins new episodes.

    environment_steps: steps of a task, all environments of a run together; an agent rounds them up to whole rollouts.
    balls: balls of an episode, nine steps each; also the best policy's return. With one ball, a return of nine steps or
        more adds no value of a later state, so errors in these values do not show.
    rendered: false: the board of 10 × 5; true: drawn at 84 × 84.
    stack: frames of an observation.
    test_episodes: test episodes of each run after each task; 0: no test.
    """

    tasks_are = "games of Catch"

    environment_steps: int
    balls: int = setting(10, at_least=1)
    rendered: bool = False
    stack: int = setting(1, at_least=1)
    tasks: int = 1
    test_episodes: int = 0

    def made(self) -> tuple[Body, str]:
        """The game."""
        return catch(self.balls, self.rendered, self.stack), f"{self.balls} balls, {self.stack} frames"
