"""Cloning: can the network still learn the policy that its run has learned later?"""

from dataclasses import replace

from plasticity_lab.assays.assay import Assay, Given, Problem
from plasticity_lab.assays.inputs import SEEN, outputs_on, problem_of_inputs
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.component import with_settings
from plasticity_lab.others import Others


@with_settings
class Cloning(Assay):
    """The outputs of the run's own network at the end of the next kept task, on inputs that the run has kept: the
    action values of value agents, the first critic of SAC, policy and value of PPO; by the mean squared error.

    The last kept task has no later network, so that its row is empty.
    """

    needs_probe = True
    needs_later = True

    def objection(self, others: Others) -> str | None:
        """It needs an agent that acts."""
        if not isinstance(others.one("benchmark", Benchmark), BodyBenchmark):
            return "it clones the policy of an agent that acts; assay=next_task is about labelled images"
        return super().objection(others)

    def problem(self, given: Given) -> Problem:
        """The later network's outputs."""
        assert given.later is not None
        found = problem_of_inputs(given, SEEN, self.examples)
        copies = 2 * given.repetitions
        later = {name: value.to(given.device).repeat_interleave(copies, dim=0) for name, value in given.later.items()}
        return replace(found, targets=outputs_on(given, found, given.model, later))
