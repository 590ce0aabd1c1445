"""Selective weight reinitialisation: periodically draws new values for single weights with the least utility.

Legend: K runs, I inputs and O outputs of a layer.
"""

from math import floor

import numpy as np
import torch
from numpy.typing import NDArray

from plasticity_lab.component import check
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.resets import Resets, none_yet
from plasticity_lab.networks.units import OF_UNITS
from plasticity_lab.randomness.host import host_stream

GRADIENT = "gradient of "


class SelectiveReinit(Resets):
    """After every `every` updates, draws new values for weights and biases of little utility, from their initial law.

    utility: gradient: |w · its gradient|; magnitude: |w|. pruning selects among the weights of a layer, and separately
    among its biases. threshold: the weights with at most `strength` · the mean utility. proportional: the share
    `strength` with the least utility; a fraction of a weight is rounded up or down at random. Moments of the selected
    weights become zero. Learned parameters of an activation are excluded.

    Source: Hernandez-Garcia et al. 2025 (docs/pages/reference/interventions/selective_reinit.md).
    State: if utility is gradient, one number a weight: its last gradient.
    """

    capped = frozenset({"every"})

    def __init__(
        self, strength: float = 1e-5, every: int = 2048, utility: str = "gradient", pruning: str = "threshold"
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.every = check("intervention.every", every, at_least=1)
        self.utility = check("intervention.utility", utility, one_of=("gradient", "magnitude"))
        self.pruning = check("intervention.pruning", pruning, one_of=("threshold", "proportional"))
        if self.pruning == "proportional":
            check("intervention.strength", strength, at_most=1)

    def start(self, now: Now) -> State:
        """The last gradients, by parameter, and "resets" of each run: the number of weights and biases drawn again."""
        names = self._names(now) if self.utility == "gradient" else []
        last = {f"{GRADIENT}{name}": torch.zeros_like(now.parameters[name]) for name in names}
        return {"resets": none_yet(now), **last}

    def after_step(self, now: Now) -> State:
        """Stores the gradients of the update, which are computed in any case."""
        if self.utility == "magnitude":
            return now.state
        return now.state | {f"{GRADIENT}{name}": now.gradients[name].contiguous() for name in self._names(now)}

    def every_n_updates(self, now: Now) -> State:
        """Draws new values for the weights of little utility."""
        state = dict(now.state, resets=now.state["resets"].clone())
        for run, (seed, strength) in enumerate(zip(now.seeds, now.settings["strength"].tolist(), strict=True)):
            for layer in now.model.design.layers:
                draw = host_stream(seed, "selective reinit", now.updates, layer.name)
                for name, values in now.model.start_of(layer, run, draw).items():
                    if name in now.parameters and name.rpartition(".")[2] in OF_UNITS:
                        state["resets"][run] += self._drawn_anew(now, run, name, values, layer.outputs, strength, draw)
        return state

    def _drawn_anew(
        self,
        now: Now,
        run: int,
        name: str,
        values: NDArray[np.float32],
        outputs: int,
        strength: float,
        draw: np.random.Generator,
    ) -> int:
        """Writes values into the entries of little utility of one parameter of one run, in place → their number.

        values (I, O), or for experts (E, I, O), including the layer's padding columns; the first `outputs` columns are
        real.
        """
        own = now.parameters[name][run].flatten(0, -2)
        utility = own[:, :outputs].abs()
        if self.utility == "gradient":
            utility = utility * now.state[f"{GRADIENT}{name}"][run].flatten(0, -2)[:, :outputs].abs()
        chosen = self._least(utility.cpu().double().numpy().ravel(), strength, draw)
        rows, columns = (torch.from_numpy(each).to(own.device) for each in np.divmod(chosen, outputs))
        own[rows, columns] = torch.from_numpy(values[..., :outputs].ravel()[chosen]).to(own.device)
        for moments in now.moments.values():
            moments[name][run].flatten(0, -2)[rows, columns] = 0.0
        return len(chosen)

    def _least(self, utility: NDArray[np.float64], strength: float, draw: np.random.Generator) -> NDArray[np.int64]:
        """The indices of the utilities that are too small."""
        if self.pruning == "threshold":
            return np.flatnonzero(utility <= strength * utility.mean())
        share = strength * len(utility)
        count = floor(share) + int(draw.random() < share % 1)
        return np.sort(np.argsort(utility, kind="stable")[:count])

    def _names(self, now: Now) -> list[str]:
        """The names of the active parameters that can be drawn again."""
        names = [f"{layer.name}.{part}" for layer in now.model.design.layers for part in OF_UNITS]
        return [name for name in names if name in now.parameters]
