"""The choice perturbation=shocks: periodically, all pre-activations of one epoch are multiplied by a factor."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from plasticity_lab.component import check
from plasticity_lab.diagnostics.derivatives import slopes
from plasticity_lab.diagnostics.view import Tensors, View
from plasticity_lab.errors import ConfigError
from plasticity_lab.perturbations.perturbation import EPOCHS, Perturbation
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.shocks import ACCURACY, FACTOR, SATURATED, with_shocks


class Shocks(Perturbation):
    """Shocks the epochs of a task with numbers divisible by `cycle`, counted from 1, each with the next of `factors`.

    The sequence of factors continues from task to task. The factor multiplies the output of each layer and its norm,
    before the activation, in training, and with `in_evaluation` in evaluation too. The saturation at the end of an
    epoch is measured with its factor. The effects of a shock are measured over the cycle − 1 epochs that follow. If
    fewer of them follow in its task, a shock is applied, but not measured.
    Source: Section 4 and Appendix D.1. By its formula t = 0 would be shocked, by the sequence next to it it is not. The
    paper does not say whether t restarts with each task, or whether evaluation is shocked.
    """

    requires = frozenset({EPOCHS})
    capped = frozenset({"cycle"})

    def __init__(self, factors: list[float], cycle: int = 10, in_evaluation: bool = False) -> None:
        self.cycle = check("perturbation.cycle", cycle, at_least=1)
        if not factors or not all(_is_factor(factor) for factor in factors):
            raise ConfigError(
                f"perturbation.factors is {list(factors)}; it must be a list of numbers above 0, as in "
                "'perturbation.factors=[1.5,0.5]'."
            )
        self.factors = [float(factor) for factor in factors]
        self.in_evaluation = in_evaluation

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Factors as floats: 2 and 2.0 are equal."""
        factors = settings["factors"]
        as_floats = list(map(float, factors)) if all(map(_is_factor, factors)) else factors
        return {**super().canonical(settings), "factors": as_floats}

    @classmethod
    def measures(cls, measures: Measures, settings: Mapping[str, Any]) -> Measures:
        """For each epoch its factor, saturation and accuracy; for the run the effects of its shocks."""
        return with_shocks(measures, settings["cycle"])

    def remarks(self, benchmark: str, epochs: int) -> Sequence[str]:
        """A remark on shocks that are not applied, or not measured."""
        given, cycle = self.count(epochs), self.cycle
        measured = max(0, (epochs - cycle + 1) // cycle) if cycle > 1 else 0
        if not given:
            return [
                f"perturbation: no epoch is shocked, since tasks of {benchmark} have {epochs} epochs, and "
                f"perturbation.cycle is {cycle}."
            ]
        if measured == given:
            return []
        why = f"fewer than {cycle - 1} epochs of the task follow" if cycle > 1 else "no epoch lies between them"
        return [
            f"perturbation: a task of {benchmark} has {given} shocks, and {given - measured} will be applied and not "
            f"measured: {why}."
        ]

    def count(self, epochs: int) -> int:
        """The number of shocks in a task with that many epochs."""
        return epochs // self.cycle

    def factor(self, epoch: int, before: int) -> float | None:
        """The next factor if the epoch's number is a multiple of the cycle."""
        if epoch % self.cycle:
            return None
        return self.factors[(before + epoch // self.cycle - 1) % len(self.factors)]

    def look(self, view: View, accuracy: Tensors, factor: float | None) -> Tensors:
        """The share of pairs (unit, example) with |φ′| < 0.001, counted in whole numbers, and the accuracy."""
        runs = list(zip(*slopes(view).values(), strict=True))
        shares = [sum(own.flat for own in run) / sum(own.pairs for own in run) for run in runs]
        return {
            FACTOR: torch.full((len(shares),), float("nan") if factor is None else factor, dtype=torch.float64),
            SATURATED: torch.tensor(shares, dtype=torch.float64),
            ACCURACY: accuracy["final_accuracy"],
        }


def _is_factor(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
