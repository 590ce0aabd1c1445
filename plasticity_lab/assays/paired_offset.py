"""Paired offset: each network starts equally far from its targets, its own outputs plus the same offset."""

from dataclasses import replace

import numpy as np
import torch

from plasticity_lab.assays.assay import Assay, Given, Problem
from plasticity_lab.assays.inputs import SEEN, UNSEEN, outputs_on, problem_of_inputs
from plasticity_lab.component import setting, with_settings
from plasticity_lab.randomness.host import host_stream


@with_settings
class PairedOffset(Assay):
    """The network's own outputs plus independent normal numbers, the same for both networks of a pair.

    Both begin with the same loss, so that the result measures speed and not the starting point. scale:
    the standard deviation of the offsets. inputs: as in `Teacher`.
    """

    scale: float = setting(1.0, above=0)
    inputs: str = setting(SEEN, one_of=(SEEN, UNSEEN))

    def problem(self, given: Given) -> Problem:
        """Outputs plus offsets."""
        found = problem_of_inputs(given, self.inputs, self.examples)
        own = outputs_on(given, found, given.model, given.parameters)
        drawn = [host_stream(seed, "assay offsets").standard_normal(own.shape[1:], np.float32) for seed in given.seeds]
        return replace(found, targets=own + self.scale * given.for_copies(torch.from_numpy(np.stack(drawn))))
