"""The change of a pack's network: its time in each run, and its effect.

Legend: K runs.
"""

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.parts import Parts
from plasticity_lab.interventions.changing import change_of
from plasticity_lab.networks.halves import FROZEN, GATE
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.run_axis import beside

Tensors = Mapping[str, Tensor]


class NetworkChange:
    """The change of a network in each run of a pack, at the run's own update (see `interventions.changing`).

    at (K,): the number of updates before it; empty if the intervention changes no network. A change does not depend on
    other runs: it is computed for all runs of the pack, and `torch.where` selects those that are due.
    """

    def __init__(self, parts: Parts, model: Model) -> None:
        changes = [change_of(each) for each in parts.interventions] if model.network.change else []
        self.model, self.at = model, np.array([ceil(each.at) for each in changes if each], np.int64)
        self.gate = f"{model.design.prefix}{FROZEN}{GATE}"

    def until(self, updates: int, most: int) -> int:
        """How many of the next `most` updates can be taken before a run changes."""
        ahead = self.at[self.at > updates]
        return min(most, int(ahead.min()) - updates) if len(ahead) else most

    def due(self, first: int, last: int) -> NDArray[np.bool_]:
        """The runs that change after `first` to `last` updates, (K,)."""
        return (first <= self.at) & (self.at <= last)

    @torch.no_grad()
    def apply(self, runs: NDArray[np.bool_], parameters: Sequence[Tensors], moments: Mapping[str, Tensors]) -> None:
        """Changes these runs (K,) in place, and resets the moments of parameters that start again.

        parameters: the network's, then each target network's.
        """
        runs_K = torch.from_numpy(runs).to(next(iter(parameters[0].values())).device)

        def put(into: Tensor, value: Tensor) -> None:
            into.copy_(torch.where(beside(runs_K, into), value, into))

        for own in parameters:
            values = {to: own[of].clone() for to, of in self.model.moves.items()}
            values[self.gate] = torch.ones_like(own[self.gate])
            for name, value in values.items():
                put(own[name], value)
        for of_kind in moments.values():
            for name in sorted(self.model.restarted):
                put(of_kind[name], torch.zeros_like(of_kind[name]))
