"""Teacher: can the network still fit the outputs of a random network of the same shape?"""

from dataclasses import replace

from plasticity_lab.assays.assay import Assay, Given, Problem
from plasticity_lab.assays.inputs import SEEN, UNSEEN, outputs_on, problem_of_inputs
from plasticity_lab.component import setting, with_settings
from plasticity_lab.randomness.host import host_stream


@with_settings
class Teacher(Assay):
    """The outputs of a fresh network of the run's own shape, by the mean squared error.

    inputs: seen (of the task that has ended), or unseen (normal numbers with the same means and deviations).
    """

    inputs: str = setting(SEEN, one_of=(SEEN, UNSEEN))

    def problem(self, given: Given) -> Problem:
        """The teacher's outputs; each repetition has its own teacher."""
        found = problem_of_inputs(given, self.inputs, self.examples)
        seeds = [int(host_stream(seed, "assay teacher").integers(2**31)) for seed in given.seeds for _ in range(2)]
        teachers = given.model.start(seeds, given.device)
        return replace(found, targets=outputs_on(given, found, given.model, teachers))
