"""The network of a pack while it acts: one forward pass for all environments of all runs.

Legend: K runs, N environments of each, B rows of a product (N, or padded), D numbers of an observation, flattened, O
numbers of an output.
"""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from plasticity_lab.agents.compiled import Call, Compiled
from plasticity_lab.agents.observations import as_floats, torch_type
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.kernels.through import ThroughKernels, prepare
from plasticity_lab.randomness.device import run_keys, uniforms
from plasticity_lab.stacking.run_axis import aligned

Array = NDArray[np.float32]
Tensors = Mapping[str, Tensor]
Read = Callable[[Tensors, Tensors], dict[str, Tensor]]
"""(the network's outputs, the agent's settings) → the values needed for acting, name → (K, B, O)."""


class ActingNetwork:
    """Observations of one body → the network's outputs for it, both on the host.

    network: its parameters are read at each call, so updates take effect at once.
    body: its inputs and outputs are used.
    shape: shape of one observation, (D,) or (C, H, W).
    environments: N, environments of each run.
    dtype: dtype of observations, float32 or uint8. Bytes are copied to the device and scaled there (see `as_floats`).
    name: distinguishes the acting networks of an agent ("online", "actor"): each name has different random numbers.
    randomised: whether a randomised activation draws its slopes while acting; otherwise it takes their mean.
    noisy: whether noisy layers are noisy while acting.
    read: computes the returned values from the outputs. It must be a free function, determined by the structure. None:
        the outputs.
    compiled: whether the forward pass is compiled.
    structure: the pack's, see `Parts`.
    kernels: whether our own kernels compute linear layers.

    Raises ValueError for another dtype, and at a call for observations of another dtype or shape.
    """

    def __init__(
        self,
        network: PackedNetwork,
        body: str,
        shape: tuple[int, ...],
        environments: int,
        *,
        dtype: DTypeLike = np.float32,
        name: str = "",
        randomised: bool,
        compiled: bool,
        structure: str,
        kernels: bool = False,
        noisy: bool = False,
        read: Read | None = None,
    ) -> None:
        model = network.model
        # Kernels need no padding. If slopes are drawn, padding makes them equal to the slopes of the other modes.
        slopes = randomised and model.draws(1, body) > 0
        self.draws_numbers = slopes or (noisy and model.noise(1, body) > 0)
        rows = environments if kernels and not slopes else aligned(environments)
        self.network = network
        self.taken = (len(network.seeds), environments, *shape), np.dtype(dtype)
        self._observations = torch.zeros(len(network.seeds), environments, prod(shape), dtype=torch_type(dtype))
        self._on_host = self._observations.numpy()
        prefix = f"{name} " if name else ""
        self.keys = {
            "slopes": run_keys(network.seeds, f"{prefix}acting", network.device),
            "noise": run_keys(network.seeds, f"{prefix}acting noise", network.device),
        }
        self._at = torch.tensor(0, device=network.device)
        if kernels:
            prepare(model.kernel_parts)
        draws = model.draws(rows, body) if randomised else 0
        noise = model.noise(environments, body) if noisy else 0

        def forward(
            parameters: Tensors, settings: Mapping[str, Tensors], keys: Tensors, x_KBD: Tensor, count: Tensor
        ) -> dict[str, Tensor]:
            drawn = uniforms(keys["slopes"], count, draws) if draws else None
            noise_KN = uniforms(keys["noise"], count, noise) if noise else None
            if kernels:
                parameters = ThroughKernels(parameters)
            x = as_floats(x_KBD)
            outputs = model.forward(parameters, settings["activation"], x, drawn, body, noise_KN, rows=rows)[0]
            return outputs if read is None else read(outputs, settings["agent"])

        same = ("acting", structure, model.structure_key, body, str((draws, noise)), np.dtype(dtype).name)
        self._forward = Compiled(forward, same, reads=range(5)) if compiled else forward

    @property
    def observation(self) -> Tensor:
        """The last observation of the first environment of the first run, (D,), on the host."""
        return self._observations[0, 0]

    @property
    def call(self) -> Call:
        """Its forward pass, to be compiled."""
        network = self.network
        x = self._observations.to(network.device)
        return self._forward, lambda: (network.parameters, network.settings, self.keys, x, self._at)

    @torch.no_grad()
    def __call__(self, observations: NDArray[np.float32] | NDArray[np.uint8], count: int) -> dict[str, Array]:
        """(K, N, D) or (K, N, C, H, W) → name → (K, N, O). count: selects the random numbers; different in each call of
        a run.

        Raises ValueError for observations of another shape or dtype than the network was made for.
        """
        if (observations.shape, observations.dtype) != self.taken:
            shape, dtype = self.taken
            raise ValueError(
                f"Observations have shape {observations.shape} in {observations.dtype}; this network takes {shape} in "
                f"{dtype}."
            )
        network = self.network
        self._on_host[...] = observations.reshape(*self._on_host.shape)
        x = self._observations.to(network.device)
        at = torch.tensor(count, device=network.device) if self.draws_numbers else self._at
        outputs = self._forward(network.parameters, network.settings, self.keys, x, at)
        return {name: value[:, : self.taken[0][1]].cpu().numpy() for name, value in outputs.items()}
