"""ReDo: every n updates, units that are dormant compared with the other units of their layer are reset.

Legend: K runs, N units or channels of a place.
"""

import numpy as np

from plasticity_lab.component import check
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.resets import Resets, mean_size, none_yet, of_units, reset_units, zeros_of_units

TINY = 1e-9
"""Added to a layer's mean, which may be 0."""


class ReDo(Resets):
    """After every `every` updates, resets the units with a score of at most `strength` (τ).

    The score is a unit's mean |h| divided by the mean of its layer's units. |h| is averaged over the examples of a
    batch (and the pixels), and over about the last `average` updates: a running mean that takes 1 / `average` of each.
    Incoming weights are fresh, outgoing weights are zero.

    Source: Sokar et al. 2023, Algorithm 1 (docs/pages/reference/interventions/redo.md).  State: one number a unit.
    """

    watches_units = True
    needs_gradients = False
    capped = frozenset({"every"})

    def __init__(self, strength: float = 0.1, every: int = 1000, average: int = 16) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.every = check("intervention.every", every, at_least=1)
        self.average = check("intervention.average", average, at_least=1)

    def start(self, now: Now) -> State:
        """For each unit, by name, `size`: the running mean of |h|. For each run "resets"."""
        return {"resets": none_yet(now), **zeros_of_units(now, "size")}

    def after_step(self, now: Now) -> State:
        """Follows the units' |h|."""
        state = dict(now.state)
        for unit in now.units:
            size, name = of_units(mean_size(now.hidden[unit.name], now.weights), unit).mean(dim=1), f"{unit.name}.size"
            state[name] = state[name] + (size - state[name]) * (1 / self.average)
        return state

    def every_n_updates(self, now: Now) -> State:
        """Resets the dormant units."""
        state = dict(now.state, resets=now.state["resets"].clone())
        for run, most in enumerate(now.settings["strength"].tolist()):
            chosen = []
            for unit in now.units:
                size = state[f"{unit.name}.size"][run].cpu().double().numpy()
                chosen.append((unit, np.flatnonzero(size / (size.mean() + TINY) <= most)))
            state["resets"][run] += reset_units(now, "redo", run, chosen)
        return state
