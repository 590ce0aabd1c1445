"""The target of double Q-learning: the network chooses the next action, the target network evaluates it."""

from torch import Tensor

from plasticity_lab.agents.value.targets.inputs import ONLINE_NEXT, TARGET_NEXT, TargetInputs
from plasticity_lab.agents.value.targets.target import Target


class DoubleQLearning(Target):
    """returns + discount · q'(s', argmax q(s', a')), or the projected distribution of that action.

    Source: van Hasselt et al. 2016, eq. 4; for distributions Hessel et al. 2018.
    """

    passes = (TARGET_NEXT, ONLINE_NEXT)
    double = True

    def target(self, inputs: TargetInputs) -> Tensor:
        """(K, B), or with atoms (K, B, Z)."""
        return inputs.by_action(inputs.passes[ONLINE_NEXT].q().argmax(dim=-1))
