"""Networks by themselves, for tests that need no agent."""

from collections.abc import Sequence

from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Network, Shapes


def classifier(network: Network, activations: Sequence[Activation], image: tuple[int, int, int], classes: int) -> Model:
    """A pack's network from images to logits, as the supervised agent has it."""
    return Model(network, activations, {"image": Shapes(image, {"logits": classes})})


def logits(model: Model, *given) -> tuple[Tensor, dict[str, Tensor]]:
    """The logits (K, B, O) of a forward pass, and what the units give."""
    outputs, hidden = model.forward(*given)
    return outputs["logits"], hidden
