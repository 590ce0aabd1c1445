"""Self-distillation: the outputs stay near the outputs of a slow average of the network.

Legend: K runs.
"""

from torch import Tensor

from plasticity_lab.component import Others, check
from plasticity_lab.interventions.average import averages, copied, follow
from plasticity_lab.interventions.declared import restarts
from plasticity_lab.interventions.intervention import OUTPUTS, Intervention
from plasticity_lab.interventions.now import Now, State

SLOW = "average "
"""Prefix of the state's entries for the averaged network."""


class SelfDistillation(Intervention):
    """strength · the mean over the batch of D(f_θ(x), f_s(x)), per run, in the loss.

    s ← average · s + (1 − average) · θ after every update, from the network at birth. D is the agent's divergence
    (`Now.divergence`): for classes the cross-entropy with the average's probabilities, for actions the agent's own. The
    pass of s is in evaluation mode and has no gradient. s includes all parameters except the switches of experts.

    Source: Zhang et al. 2019; in this field Lee et al. 2024, as a baseline
    (docs/pages/reference/interventions/hare_tortoise.md). State: one number a parameter.
    """

    requires = frozenset({OUTPUTS})
    objects_to = frozenset({"intervention"})
    watches_outputs = True
    leaves_parameters = True
    needs_gradients = False
    forwards = 1
    operations = 10  # the average of the parameters

    def __init__(self, strength: float = 1.0, average: float = 0.999) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.average = check("intervention.average", average, at_least=0, at_most=1)

    def objection(self, others: Others) -> str | None:
        """A fresh network for each task would stay near the average of the networks before."""
        if restarts(others):
            return "its average would keep a task's fresh network near the networks of earlier tasks"
        return super().objection(others)

    def start(self, now: Now) -> State:
        """The averaged network, "average <parameter>" (K, ...): a copy of the parameters."""
        return copied(now, SLOW)

    def penalty(self, now: Now) -> Tensor:
        """(K,)."""
        assert now.forward is not None
        assert now.x is not None
        assert now.divergence is not None
        reference, _ = now.forward({**now.parameters, **averages(now, SLOW)}, now.x)
        return now.settings["strength"] * now.mean_over_batch(now.divergence(now.outputs, reference).unsqueeze(2))

    def after_step(self, now: Now) -> State:
        """The average follows the active parameters, in place."""
        network = now.network
        for name, slow in averages(now, SLOW).items():
            follow(slow, network[name], now.settings["average"])
        return now.state
