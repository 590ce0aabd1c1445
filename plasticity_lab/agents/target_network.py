"""Target networks: parameters that follow the parameters of another network.

Legend: K runs.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.kernels import operators
from plasticity_lab.stacking.run_axis import beside


class Online(Protocol):
    """The network to follow: a `PackedNetwork`. Its parameters may be replaced by other tensors."""

    parameters: dict[str, Tensor]


class TargetNetwork:
    """A copy of a packed network's parameters, under the same names, without an optimizer (`PackedNetwork.target`).

    The copied tensors keep their identity; values are copied into them. A reset of parameters in the online network
    does not change them, unless the intervention changes them itself (`Now.targets`).
    """

    def __init__(self, online: Online) -> None:
        self.online = online
        self.parameters = {name: value.clone() for name, value in online.parameters.items()}

    def copy(self, runs: NDArray[np.bool_] | None = None) -> None:
        """Copies the online network's parameters, in place.  runs: which of the K runs; None: all."""
        for name, own in self.parameters.items():
            for run in range(len(own)) if runs is None else np.flatnonzero(runs):
                own[run].copy_(self.online.parameters[name][run])

    @torch.no_grad()
    def follow(self, tau_K: Tensor) -> None:
        """Moves the parameters towards the online network (see `follow`). tau (K,)."""
        follow(self.parameters, self.online.parameters, tau_K)

    def state(self) -> dict[str, Any]:
        """The parameters. The tensors are not copied."""
        return {"parameters": dict(self.parameters)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a state of this process or of an earlier one, without modifying it."""
        for name, own in self.parameters.items():
            own.copy_(state["parameters"][name])


def follow(target: Mapping[str, Tensor], online: Mapping[str, Tensor], tau_K: Tensor) -> None:
    """θ' ← (1 − τ) θ' + τ θ for each run, in place, inside and outside of compiled graphs.

    target, online: name → (K, ...), with equal names. tau (K,).
    """
    if operators.serve(tau_K):
        torch.ops.plasticity_lab.follow(tau_K, [online[name] for name in target], list(target.values()))
        return
    for name, own in target.items():
        tau = beside(tau_K, own)
        own.copy_((1 - tau) * own + tau * online[name])
