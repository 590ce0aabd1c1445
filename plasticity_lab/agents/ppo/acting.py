"""What the networks of a pack answer while they act: one forward pass for all their environments.

Legend: K runs, N environments of each, B rows of a product (N, or padded), D numbers of an observation, O of an output.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.kernels.through import ThroughKernels, prepare
from plasticity_lab.randomness.device import run_keys, uniforms
from plasticity_lab.stacking.run_axis import aligned

Array = NDArray[np.float32]


class Answers:
    """Observations of one body → its outputs, both on the host.

    randomised: whether a randomised activation draws its slopes here too, else it takes their mean. structure: the
    pack's, as `Parts` has it. kernels: whether linear layers are computed by our own.
    """

    def __init__(
        self,
        network: PackedNetwork,
        body: str,
        numbers: int,
        environments: int,
        randomised: bool,
        compiled: bool,
        structure: str,
        kernels: bool = False,
    ) -> None:
        self.randomised = randomised and network.model.draws(1, body) > 0
        # Kernels need no padding; where slopes are drawn, it keeps them those of the other modes.
        rows = environments if kernels and not self.randomised else aligned(environments)
        self.network, self.environments = network, environments
        self._lay_out((len(network.seeds), rows, numbers), torch.float32)
        self.keys = run_keys(network.seeds, "acting", network.device)
        self._at = torch.tensor(0, device=network.device)
        if kernels:
            prepare()
        model, draws = network.model, network.model.draws(rows, body) if self.randomised else 0

        def answer(
            parameters: Mapping[str, Tensor], shape: Mapping[str, Tensor], keys: Tensor, x: Tensor, count: Tensor
        ) -> dict[str, Tensor]:
            drawn = uniforms(keys, count, draws) if draws else None
            if kernels:
                parameters = ThroughKernels(parameters)
            return model.forward(parameters, shape, x, drawn, body)[0]

        same = ("ppo acting", structure, model.told, body, str(draws))
        self.answer = Compiled(answer, same) if compiled else answer

    @torch.no_grad()
    def __call__(self, observations: NDArray[Any], count: int) -> dict[str, Array]:
        """(K, N, D) → name → (K, N, O).  count: of what is drawn, a new one for each call of a run.

        Observations go to the device in their own type: float32, or uint8.
        """
        network = self.network
        if observations.dtype != self._rows.dtype:
            self._lay_out(self.given.shape, torch.from_numpy(observations).dtype)
        self._rows[...] = observations
        x = self.given.to(network.device)
        shape, at = network.settings["activation"], self._at
        if self.randomised:
            at = torch.tensor(count, device=network.device)
        outputs = self.answer(network.parameters, shape, self.keys, x, at)
        return {name: value[:, : self.environments].cpu().numpy() for name, value in outputs.items()}

    def _lay_out(self, shape: Sequence[int], dtype: torch.dtype) -> None:
        """Rows of that type to hand over, the padded ones 0."""
        self.given = torch.zeros(*shape, dtype=dtype)
        self._rows = self.given.numpy()[:, : self.environments]
