"""An Atari game with continuous actions, learned for a number of steps (see `environments/atari/games.py`)."""

from plasticity_lab.benchmarks.bodies.base import OneBodyBenchmark
from plasticity_lab.component import check
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import MAX_STEPS, STICKY, THRESHOLD, spellings


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

    def __init__(
        self,
        environment_steps: int,
        game: str = "pong",
        sticky: float = STICKY,
        threshold: float = THRESHOLD,
        max_steps: int = MAX_STEPS,
        tasks: int = 1,
        test_episodes: int = 0,
    ) -> None:
        self.set_lengths(environment_steps, tasks, test_episodes)
        sticky = check("benchmark.sticky", sticky, at_least=0, below=1)
        threshold = check("benchmark.threshold", threshold, at_least=0, below=1)
        max_steps = check("benchmark.max_steps", max_steps, at_least=1)
        body = atari(game, sticky, max_steps=max_steps, threshold=threshold)
        self.set_body(body, f"{body.name}, sticky {sticky}, actions of numbers, threshold {threshold}")
