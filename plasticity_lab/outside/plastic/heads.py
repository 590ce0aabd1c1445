"""Entries of an intervention's state that are trained (`Intervention.learned`), by an optimizer like the module's."""

import inspect
from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.interventions.now import State
from plasticity_lab.outside.plastic import group


class Heads:
    """Trains some entries of a state, which become leaves of autograd, with the settings of the first group of an
    optimizer, also when its learning rate changes.
    """

    def __init__(self, state: State, learned: Collection[str], like: torch.optim.Optimizer) -> None:
        for name in learned:
            state[name] = state[name].detach().clone().requires_grad_()
        self.values: list[Tensor] = [state[name] for name in learned]
        first = {key: value for key, value in like.param_groups[0].items() if key not in ("params", "param_names")}
        known = inspect.signature(type(like)).parameters
        self._like = like
        self.optimizer: Any = type(like)(self.values, **{key: value for key, value in first.items() if key in known})

    def step(self, world: Any) -> None:
        """A step, with the mean gradient of all processes.  world: their group, or None."""
        self.optimizer.param_groups[0]["lr"] = self._like.param_groups[0]["lr"]
        if world is not None:
            group.average([value.grad for value in self.values if value.grad is not None], world)
        self.optimizer.step()
        self.optimizer.zero_grad()
