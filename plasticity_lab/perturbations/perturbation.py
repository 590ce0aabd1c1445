"""The base class of perturbations. One multiplies all pre-activations in some epochs, and is part of a run's
science.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from plasticity_lab.component import Component
from plasticity_lab.diagnostics.view import Tensors, View
from plasticity_lab.records.measures import Measures

EPOCHS = "epochs of a task"
"""In `Perturbation.requires`: the perturbation chooses some epochs of a task."""


class Perturbation(Component):
    """The perturbed epochs, their factors, and the measurements at the end of an epoch.

    Its settings are structure: all runs of a pack have the same perturbation.
    """

    requires: ClassVar[frozenset[str]] = frozenset()
    """The data that the agent must provide (`Agent.provides`). Other agents are refused together with this
    perturbation."""

    in_evaluation: bool = False
    """Whether accuracies on held-out images are taken with the factor of the epoch that has ended."""

    perturbs: ClassVar[bool] = True
    """False if it changes no epoch: such runs are computed as if there were no perturbation."""

    @classmethod
    def measures(cls, measures: Measures, settings: Mapping[str, Any]) -> Measures:
        """The measures of runs with this perturbation.  measures: their measures without it. settings: its settings."""
        return measures

    def remarks(self, benchmark: str, epochs: int) -> Sequence[str]:
        """Remarks to print before training on a benchmark of that name, with that many epochs a task: sentences."""
        return ()

    def count(self, epochs: int) -> int:
        """The number of perturbed epochs in a task with that many epochs."""
        return 0

    def factor(self, epoch: int, before: int) -> float | None:
        """The factor on the pre-activations in an epoch of a task; None if the epoch is not perturbed.

        epoch: from 1. before: number of perturbed epochs in the run's earlier tasks.
        """
        return None

    def look(self, view: View, accuracy: Tensors, factor: float | None) -> Tensors:
        """The values of its columns at the end of an epoch, name → (K,).

        view: with that epoch's factor. accuracy: on the current task's held-out images, by name, (K,).
        """
        return {}
