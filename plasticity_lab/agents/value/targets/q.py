"""The target of Q-learning: the target network's value of its best next action."""

from torch import Tensor

from plasticity_lab.agents.value.targets.inputs import TARGET_NEXT, TargetInputs
from plasticity_lab.agents.value.targets.target import Target


class QLearning(Target):
    """returns + discount · max q'(s', a'), or the projected distribution of the best action.

    The target network chooses the next action and evaluates it. Source: Mnih et al. 2015, algorithm 1; for
    distributions Bellemare et al. 2017, algorithm 1.
    """

    def target(self, inputs: TargetInputs) -> Tensor:
        """(K, B), or with atoms (K, B, Z)."""
        q = inputs.passes[TARGET_NEXT].q()
        return inputs.by_action(q.argmax(dim=-1)) if inputs.atoms else inputs.by_value(q.amax(dim=-1))
