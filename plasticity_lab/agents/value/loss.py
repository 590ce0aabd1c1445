"""The losses of value agents: squared errors of values, or cross-entropies of distributions.

Legend: K runs, B examples of a batch, D numbers of an observation, Z atoms of a distribution.
"""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.agents.update import Loss, LossOutput
from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.elementary import exp, log_softmax, summed_last

Tensors = Mapping[str, Tensor]
MEASURED = ("loss", "q")
"""What the loss measures of each example, in this order: its loss, whatever it counts, and the value of its action."""


def loss_of(model: Model, body: str, action_values: ActionValues) -> Loss:
    """The loss, a mean over the batch in which each example may count more or less.

    A batch has "x" (K, B, D), "action" (K, B), "target", what the action's value should be (K, B), or its distribution
    (K, B, Z), and "weight" (B,): 1 / examples, 0 where one only fills up the rows. "importance" (K, B), where it is
    there: by what each loss is multiplied. Beside these the random numbers that `drawn` gives.

    Of values the squared error, without a half (Dopamine's `mse`); of distributions the cross-entropy (Bellemare et al.
    2017).
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        outputs, hidden = model.forward(
            parameters, settings["activation"], batch["x"], batch.get("drawn"), body, batch.get("noise")
        )
        own = action_values.of_actions(outputs, batch["action"])
        if action_values.atoms:
            logs = log_softmax(own)
            error = -summed_last(batch["target"] * logs)
            q = summed_last(exp(logs.detach()) * action_values.support(settings["agent"])[:, None])
        else:
            q, error = own, (batch["target"] - own) * (batch["target"] - own)
        total = error * batch["weight"]
        if "importance" in batch:
            total = total * batch["importance"]
        return LossOutput(total, dict(zip(MEASURED, (error, q), strict=True)), hidden, batch["weight"])

    return loss
