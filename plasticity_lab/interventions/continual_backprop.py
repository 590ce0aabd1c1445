"""Continual backprop: each update resets a small share of the units, the ones with the least utility.

Legend: K runs, N units or channels of a place.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.resets import (
    Chosen,
    Resets,
    mean_size,
    none_yet,
    of_units,
    outgoing_size,
    reset_due,
    zeros_of_units,
)
from plasticity_lab.networks.network import Unit
from plasticity_lab.stacking.run_axis import beside


class ContinualBackprop(Resets):
    """In each update, resets the fraction `strength` of the mature units of each place, accumulated to whole units.

    The strength is the replacement rate. Units with the least utility are reset. The utility is the running mean, with
    the rate `decay`, of a unit's contribution: mean |h| over the batch (and the pixels) · Σ |w| over its outgoing
    weights. A unit is mature after more than `maturity` updates since its reset. A reset draws new incoming weights and
    sets outgoing weights to zero. every: number of updates between resets of the units that are due.

    Source: Dohare et al. 2024, Algorithm 1 and equation 1 (docs/pages/reference/interventions/continual_backprop.md).
    State: two numbers a unit, one a place.
    """

    watches_units = True
    needs_gradients = False
    operations = 35

    def __init__(self, strength: float = 1e-4, decay: float = 0.99, maturity: int = 100, every: int = 1) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.decay = check("intervention.decay", decay, at_least=0, below=1)
        self.maturity = check("intervention.maturity", maturity, at_least=0)
        self.every = check("intervention.every", every, at_least=1)

    def start(self, now: Now) -> State:
        """For each unit, by name: `age`, updates since its reset, and `utility`, the running mean, which starts at 0.

        For each place: `owed` (K,), the number of units still to be reset, including a fraction. For each run:
        "resets", and "due", the number of places that owe at least one whole unit.
        """
        zeros = zeros_of_units(now, "age", "utility")
        owed = {f"{unit.name}.owed": zeros[f"{unit.name}.age"].new_zeros(len(now.seeds)) for unit in now.units}
        return {"resets": none_yet(now), "due": none_yet(now), **zeros, **owed}

    def after_step(self, now: Now) -> State:
        """Updates ages, utilities, and the numbers of units to be reset."""
        state, due = dict(now.state), torch.zeros_like(now.state["due"])
        for unit in now.units:
            age = state[f"{unit.name}.age"] + 1
            contribution = _contribution(now, unit)
            decay = beside(now.settings["decay"], age)
            mature = (age > self.maturity).sum(dim=1)
            owed = state[f"{unit.name}.owed"] + now.settings["strength"] * mature
            due = due + (owed >= 1)
            state |= {
                f"{unit.name}.age": age,
                f"{unit.name}.utility": decay * state[f"{unit.name}.utility"] + (1 - decay) * contribution,
                f"{unit.name}.owed": owed,
            }
        return state | {"due": due}

    def every_n_updates(self, now: Now) -> State:
        """Resets the units that are owed."""

        def choose(state: State, run: int) -> Chosen:
            decay, chosen = now.settings["decay"][run].double().item(), []
            for unit in now.units:
                age, utility, owed = (state[f"{unit.name}.{name}"][run] for name in ("age", "utility", "owed"))
                units = self._least_useful(age, utility, int(owed), decay)
                age[units], utility[units] = 0, 0
                owed -= len(units)
                chosen.append((unit, units))
            return chosen

        return reset_due(now, "continual backprop", choose)

    def _least_useful(self, age: Tensor, utility: Tensor, count: int, decay: float) -> NDArray[np.int64]:
        """The mature units of one place with the least utility, at most `count`, in their order.  age, utility (N,).

        A running mean that started at 0 is too small at first: it is divided by the running mean of ones.
        """
        ages = age.cpu().double().numpy()
        mature = np.flatnonzero(ages > self.maturity)
        fair = utility.cpu().double().numpy()[mature] / (1 - decay ** ages[mature])
        return np.sort(mature[np.argsort(fair, kind="stable")[:count]])


def _contribution(now: Now, unit: Unit) -> Tensor:
    """mean |h| · Σ |w| of each unit of a place, (K, N), summed over the values that it passes on."""
    sizes = mean_size(now.hidden[unit.name], now.weights) * outgoing_size(now.model, now.parameters, unit)
    return of_units(sizes, unit).sum(dim=1)
