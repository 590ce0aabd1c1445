"""What a perturbation is: it multiplies all pre-activations in some epochs of a task; it is part of a run's science."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from plasticity_lab.component import Component
from plasticity_lab.diagnostics.view import Tensors, View
from plasticity_lab.records.measures import Measures

EPOCHS = "epochs of a task"
"""What an agent must provide to a perturbation that chooses some of them (`Perturbation.requires`)."""


class Perturbation(Component):
    """Which epochs are perturbed, by what factor, and what is measured of it when an epoch ends.

    Its settings are structure: all runs of a pack are perturbed alike.
    """

    requires: ClassVar[frozenset[str]] = frozenset()
    """What the agent must provide (`Agent.provides`): else the two are refused together."""

    in_evaluation: bool = False
    """Whether accuracies on held-out images are taken with the factor of the epoch that has ended."""

    perturbs: ClassVar[bool] = True
    """False of what leaves every epoch as it is: such runs are computed as if there were no perturbation."""

    @classmethod
    def measures(cls, measures: Measures, settings: Mapping[str, Any]) -> Measures:
        """What runs measure that are perturbed so.  measures: what they measure without it. settings: its own."""
        return measures

    def remarks(self, benchmark: str, epochs: int) -> Sequence[str]:
        """What is said before training on a benchmark of that name whose tasks have so many epochs: sentences."""
        return ()

    def count(self, epochs: int) -> int:
        """How many epochs of a task with so many are perturbed."""
        return 0

    def factor(self, epoch: int, before: int) -> float | None:
        """By what the pre-activations of a task's epoch are multiplied; None where that is left as it is.

        epoch: from 1. before: how many epochs of the run's earlier tasks were perturbed.
        """
        return None

    def look(self, view: View, accuracy: Tensors, factor: float | None) -> Tensors:
        """The rows of its columns, name → (K,), when an epoch has ended.

        view: with that epoch's factor. accuracy: on the current task's held-out images, by name, (K,).
        """
        return {}
