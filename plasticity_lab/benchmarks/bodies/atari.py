"""An Atari game, learned for a number of steps (see `environments/atari/games.py`)."""

from plasticity_lab.benchmarks.bodies.base import OneBodyBenchmark
from plasticity_lab.component import check
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import MAX_STEPS, STICKY, spellings


class Atari(OneBodyBenchmark):
    """`tasks` tasks, all of them the same game; each begins new episodes.

    game: its name in ale-py; a command may use any of its `spellings`.
    environment_steps: steps of a task (four frames each), all environments of a run together; an agent rounds them up
        to whole rollouts.
    sticky: probability that a frame repeats the last action.
    full_actions: whether the agent has all 18 actions, or only the actions of the game.
    noops: an episode begins with fewer no-op frames than this, their number set by the seed; 0: none.
    max_steps: steps after which an episode is truncated.
    test_episodes: test episodes of each run after each task; 0: no test.
    """

    tasks_are = "Atari games"
    named_values = {"game": spellings()}

    def __init__(
        self,
        environment_steps: int,
        game: str = "pong",
        sticky: float = STICKY,
        full_actions: bool = False,
        noops: int = 0,
        max_steps: int = MAX_STEPS,
        tasks: int = 1,
        test_episodes: int = 0,
    ) -> None:
        self.set_lengths(environment_steps, tasks, test_episodes)
        sticky = check("benchmark.sticky", sticky, at_least=0, below=1)
        noops = check("benchmark.noops", noops, at_least=0)
        max_steps = check("benchmark.max_steps", max_steps, at_least=1)
        body = atari(game, sticky, full_actions, noops, max_steps)
        actions = "all actions" if full_actions else "minimal actions"
        self.set_body(body, f"{body.name}, sticky {sticky}, {actions}{f', up to {noops} no-ops' if noops else ''}")
