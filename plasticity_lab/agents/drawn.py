"""The random numbers of a training pass, by key and count.

Legend: K runs.
"""

from collections.abc import Mapping

from torch import Tensor

from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import uniforms


def drawn(
    model: Model, keys: Mapping[str, Tensor], count: Tensor, batch: int, body: str | None = None
) -> dict[str, Tensor]:
    """What `Model.forward` takes in training, for a batch of that many rows: "drawn", the numbers of a randomised
    activation, and "noise", those of noisy layers; what the model does not take is not there.

    keys: "activation" and "noise", (K, 2) each (see `PackedNetwork.step_keys`). count (): a new one for each pass.
    """
    numbers = {}
    if draws := model.draws(batch, body):
        numbers["drawn"] = uniforms(keys["activation"], count, draws)
    if noise := model.noise(batch, body):
        numbers["noise"] = uniforms(keys["noise"], count, noise)
    return numbers
