"""A network that follows another one: its parameters as they were some time ago, or their running mean.

Legend: K runs.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.stacking.run_axis import beside


class Followed(Protocol):
    """What a target follows: a packed network."""

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """By name, each (K, …); a network that is loaded may have other tensors from then on."""
        ...


class TargetNetwork:
    """A copy of a packed network's parameters, under the same names, without an optimizer (`PackedNetwork.target`).

    The copies stay the same tensors, whatever is copied into them. What fills the online network with fresh numbers
    leaves them alone, but for an intervention that changes them itself (`Now.targets`).
    """

    def __init__(self, online: Followed) -> None:
        self.online = online
        self.parameters = {name: value.clone() for name, value in online.parameters.items()}

    def copy(self, runs: NDArray[np.bool_] | None = None) -> None:
        """Takes over the online network's parameters, in place: of those runs, (K,); None: of all."""
        for name, own in self.parameters.items():
            for run in range(len(own)) if runs is None else np.flatnonzero(runs):
                own[run].copy_(self.online.parameters[name][run])

    @torch.no_grad()
    def follow(self, tau_K: Tensor) -> None:
        """As `follow`, the online network.  tau (K,)."""
        follow(self.parameters, self.online.parameters, tau_K)

    def state(self) -> dict[str, Any]:
        """The parameters. Its tensors are the network's own."""
        return {"parameters": dict(self.parameters)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Goes back to a state, of this process or of an earlier one, and leaves it untouched."""
        for name, own in self.parameters.items():
            own.copy_(state["parameters"][name])


def follow(target: Mapping[str, Tensor], online: Mapping[str, Tensor], tau_K: Tensor) -> None:
    """θ' ← (1 − τ) θ' + τ θ of each run, in place, inside and outside of compiled graphs.

    target, online: name → (K, ...), of equal names. tau (K,).
    """
    for name, own in target.items():
        tau = beside(tau_K, own)
        own.copy_((1 - tau) * own + tau * online[name])
