"""An Atari game, learned for a number of steps (see `environments/atari/games.py`)."""

from plasticity_lab.benchmarks.bodies.base import OneBodyBenchmark
from plasticity_lab.component import setting, with_settings
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import MAX_STEPS, STICKY, spellings
from plasticity_lab.environments.body import Body


@with_settings
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

    environment_steps: int
    game: str = "pong"
    sticky: float = setting(STICKY, at_least=0, below=1)
    full_actions: bool = False
    noops: int = setting(0, at_least=0)
    max_steps: int = setting(MAX_STEPS, at_least=1)
    tasks: int = 1
    test_episodes: int = 0

    def made(self) -> tuple[Body, str]:
        """The game."""
        actions = "all actions" if self.full_actions else "minimal actions"
        noops = f", up to {self.noops} no-ops" if self.noops else ""
        body = atari(self.game, self.sticky, self.full_actions, self.noops, self.max_steps)
        return body, f"sticky {self.sticky}, {actions}{noops}"
