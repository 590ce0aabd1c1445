"""The loss of DQN, and the values that it pulls a network towards.

Legend: K runs, B examples of a batch, D numbers of an observation, A actions to choose from.
"""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.agents.update import Loss, LossOutput
from plasticity_lab.networks.model import Model

Tensors = Mapping[str, Tensor]
MEASURED = ("loss", "q")
"""What the loss measures of each example, in this order."""


def targets(q_KBA: Tensor, returns_KB: Tensor, discount_KB: Tensor) -> Tensor:
    """What the value of each action taken should be, (K, B): returns + discount · max_a q.

    q: of what was shown after the steps of the return, by the target network. discount: γ to the power of these steps,
    0 where nothing follows. Source: Mnih et al. 2015, algorithm 1; of n steps, Sutton & Barto 2018, eq. 7.1.
    """
    return returns_KB + discount_KB * q_KBA.amax(dim=-1)


def loss_of(model: Model, body: str) -> Loss:
    """Squared error of the value of the action taken, without a half, a mean over the batch (Dopamine's `mse`).

    A batch has "x" (K, B, D), "action" (K, B), "target" (K, B) and "weight" (B,): 1 / examples, 0 where one only fills
    up the rows. Beside these the random numbers that `drawn` gives.
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        outputs, hidden = model.forward(
            parameters, settings["activation"], batch["x"], batch.get("drawn"), body, batch.get("noise")
        )
        q = outputs["q"].gather(-1, batch["action"].unsqueeze(-1)).squeeze(-1)
        error = (batch["target"] - q) * (batch["target"] - q)
        return LossOutput(
            error * batch["weight"], dict(zip(MEASURED, (error, q), strict=True)), hidden, batch["weight"]
        )

    return loss
