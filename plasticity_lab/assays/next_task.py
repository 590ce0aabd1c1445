"""The stream's own next task: how well does the network learn it, compared with a fresh one?"""

from plasticity_lab.assays.assay import Assay, Given, Problem
from plasticity_lab.assays.images import labelled_problem, lessons_of
from plasticity_lab.component import with_settings


@with_settings
class NextTask(Assay):
    """The task after the one that has ended, with its labels and pixel order, and its held-out images as a test.

    The stream is not trained again: a task is a function of seed and position.
    """

    of_classes = True
    tests = True

    def applies(self, position: int, tasks: int) -> bool:
        """A run's last task has no next one."""
        return position + 1 < tasks

    def problem(self, given: Given) -> Problem:
        """`examples` images of the next task (all, if it has fewer)."""
        return labelled_problem(given, lessons_of(given, given.position + 1), self.examples)
