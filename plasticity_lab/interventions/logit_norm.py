"""Logit norm: a penalty on the size of the outputs, also called spectral decoupling."""

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.feature_norm import REDUCTIONS, size
from plasticity_lab.interventions.intervention import OUTPUTS, Intervention
from plasticity_lab.interventions.now import Now

NOT_LOGITS = ("value", "log_std")
"""Outputs that do not choose: estimates of a state's value, and the logarithm of a policy's standard deviation."""


class LogitNorm(Intervention):
    """strength · mean over the batch of the mean of the squared outputs, per run, in the loss.

    The outputs are the logits of a classifier, the logits or means of a policy, the action values of a value agent (the
    advantages of a dueling one). Estimates of a state's value and standard deviations are excluded. reduction: the mean
    over the numbers of an output, or their sum.
    Source: Pezeshki et al. 2021, "Gradient starvation", who take half of the sum; the code of Lee et al. 2024 takes the
    mean.
    """

    requires = frozenset({OUTPUTS})
    watches_outputs = True

    def __init__(self, strength: float = 1e-3, reduction: str = "mean") -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.reduction = check("intervention.reduction", reduction, one_of=REDUCTIONS)

    def penalty(self, now: Now) -> Tensor:
        """(K,)."""
        logits = [output for name, output in now.outputs.items() if name not in NOT_LOGITS]
        return now.settings["strength"] * size(now, logits, self.reduction)
