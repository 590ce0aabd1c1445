"""The target by the agent's settings: Q-learning, or double Q-learning by `agent.double`."""

from collections.abc import Sequence

from plasticity_lab.agents.parts import AnyBenchmark, Parts
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.agents.value.targets.double import DoubleQLearning
from plasticity_lab.agents.value.targets.q import QLearning
from plasticity_lab.agents.value.targets.target import Target


class Auto(Target):
    """The neutral choice. Every agent takes it; agents without targets ignore it."""

    requires = frozenset()
    double = None

    def beside(self, agent: ValueSettings) -> Target:
        """Double Q-learning if `agent.double`, Q-learning otherwise."""
        return DoubleQLearning() if agent.double else QLearning()


def targets_of_runs(parts: Parts[AnyBenchmark], agent: ValueSettings) -> Sequence[Target]:
    """The target of each run. They differ only in settings on the run axis.

    Runs that are older than the config group have none; theirs is `Auto`.
    """
    chosen = parts.each("target", Target) if "target" in parts else [Auto() for _ in parts.init_seeds]
    return [target.beside(agent) for target in chosen]
