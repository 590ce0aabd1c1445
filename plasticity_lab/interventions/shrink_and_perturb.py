"""Shrink and perturb: weights that are scaled down, with a little of a fresh network added."""

from collections.abc import Mapping
from typing import Any

import torch

from plasticity_lab.component import Chosen, check
from plasticity_lab.interventions.intervention import TASK_BEGINS, Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.units import DRAWN_ANEW
from plasticity_lab.randomness.host import host_stream


class ShrinkAndPerturb(Intervention):
    """θ ← (1 − strength) θ + noise · fresh: when a task begins, or after every `every` updates.

    fresh: the layer's first numbers, drawn again, so that each kind of number is perturbed on its own scale: the
    weights and biases of all layers, and the deviations of noisy ones. The scales and shifts of a normalisation, the
    scale of a router, the numbers that an activation learns and those that do not depend on the input (a policy's
    log σ) start without randomness and are left alone. So is a closed expert: it stays closed. With strength = noise
    = 1 all else is a fresh network. Moments stay (`optimizer.reset=task` resets them). Source: Ash & Adams 2020,
    between rounds of training; Kumar et al. 2023, after every update.
    """

    requires = frozenset({TASK_BEGINS})

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 under an agent with noisy layers: version 1 left their deviations alone."""
        _, agent = others.get("agent", (None, {}))
        return 2 if agent.get("noisy") else super().version_beside(settings, others)

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
            names = now.parameters.keys() & {f"{layer.name}.{part}" for part in DRAWN_ANEW}
            for run, seed in enumerate(now.seeds) if names else ():
                draw = host_stream(seed, "shrink and perturb", now.updates, layer.name)
                fresh = now.model.start_of(layer, run, draw)
                for name in names & fresh.keys():
                    own = now.parameters[name][run]
                    own.mul_(kept[run]).add_(torch.from_numpy(fresh[name]).to(own.device) * noise[run])
        return now.state
