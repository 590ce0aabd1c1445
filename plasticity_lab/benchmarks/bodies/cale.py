"""An Atari game with continuous actions, learned for a number of steps (see `environments/atari/games.py`)."""

from plasticity_lab.benchmarks.bodies.base import OneBodyBenchmark
from plasticity_lab.component import setting, with_settings
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import MAX_STEPS, STICKY, THRESHOLD, spellings
from plasticity_lab.environments.body import Body


@with_settings
class Cale(OneBodyBenchmark):
    """`tasks` tasks, all of them the same game; each begins new episodes.

    An action is three numbers: the joystick's distance and direction, and whether to fire (see `simulation.Atari`).
        Source: Farebrother & Castro 2024.

    game: its name in ale-py; a command may use any of its `spellings`.
    environment_steps: steps of a task (four frames each), all environments of a run together; an agent rounds them up
        to whole rollouts.
    sticky: probability that a frame repeats the last action.
    threshold: numbers of an action take effect above this threshold.
    max_steps: steps after which an episode is truncated.
    test_episodes: test episodes of each run after each task; 0: no test.
    """

    tasks_are = "Atari games with continuous actions"
    named_values = {"game": spellings()}

    environment_steps: int
    game: str = "pong"
    sticky: float = setting(STICKY, at_least=0, below=1)
    threshold: float = setting(THRESHOLD, at_least=0, below=1)
    max_steps: int = setting(MAX_STEPS, at_least=1)
    tasks: int = 1
    test_episodes: int = 0

    def made(self) -> tuple[Body, str]:
        """The game."""
        body = atari(self.game, self.sticky, max_steps=self.max_steps, threshold=self.threshold)
        return body, f"sticky {self.sticky}, actions of numbers, threshold {self.threshold}"
