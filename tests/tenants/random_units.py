"""Random units begin anew: what resets of units cost, whichever units they are."""

import numpy as np

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.units import cut_off, forget, start_anew
from plasticity_lab.randomness.host import host_stream


class RandomUnits(Intervention):
    """After every `every` updates a `share` of the units, drawn anew: fresh weights in, none out, no moments."""

    def __init__(self, every: int = 10, share: float = 0.1) -> None:
        self.every = check("intervention.every", every, at_least=1)
        self.share = check("intervention.share", share, at_least=0, at_most=1)

    def every_n_updates(self, now: Now) -> State:
        """Resets in place."""
        for run, (seed, share) in enumerate(zip(now.seeds, now.settings["share"].tolist(), strict=True)):
            for unit in now.units:
                draw = host_stream(seed, "random units", now.updates, unit.name)
                count = round(share * unit.produced[0])
                chosen = np.sort(draw.permutation(unit.produced[0])[:count])
                start_anew(now.model, now.parameters, run, unit, chosen, draw)
                cut_off(now.model, now.parameters, run, unit, chosen)
                forget(now.model, now.moments, run, unit, chosen)
        return now.state
