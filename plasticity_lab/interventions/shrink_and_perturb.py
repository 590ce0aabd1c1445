"""Shrink and perturb: weights that are scaled down, with a little of a fresh network added."""

import torch

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import TASK_BEGINS, Intervention, Now, State
from plasticity_lab.randomness.host import host_stream


class ShrinkAndPerturb(Intervention):
    """θ ← (1 − strength) θ + noise · fresh: when a task begins, or after every `every` updates.

    fresh: what the layer would start with, drawn anew, so that each kind of number is perturbed on its own scale: the
    weights and biases of all layers. What a normalisation scales and shifts by, and what an activation learns, starts
    without randomness and is left alone. strength = noise = 1 is a fresh network. Moments stay (`optimizer.reset=task`
    would begin them anew). Source: Ash & Adams 2020, between rounds of training; Kumar et al. 2023, after every update.
    """

    requires = frozenset({TASK_BEGINS})

    def __init__(self, strength: float = 0.6, noise: float = 0.1, every: int | None = None) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.noise = check("intervention.noise", noise, at_least=0)
        self.every = check("intervention.every", every, at_least=1)
        self.between_tasks = every is None

    def before_task(self, now: Now) -> State:
        """In place, unless it is done after updates."""
        return now.state if self.every is not None else self._shrunk(now)

    def every_n_updates(self, now: Now) -> State:
        """In place."""
        return self._shrunk(now)

    def _shrunk(self, now: Now) -> State:
        """The state, which stays; the layers that are active are changed, run by run."""
        kept, noise = (1 - now.settings["strength"]).tolist(), now.settings["noise"].tolist()
        for layer in now.model.design.layers:
            if f"{layer.name}.weight" not in now.parameters:
                continue
            for run, seed in enumerate(now.seeds):
                draw = host_stream(seed, "shrink and perturb", now.updates, layer.name)
                fresh = now.model.start_of(layer, run, draw)
                for name in (f"{layer.name}.weight", f"{layer.name}.bias"):
                    own = now.parameters[name][run]
                    own.mul_(kept[run]).add_(torch.from_numpy(fresh[name]).to(own.device) * noise[run])
        return now.state
