"""The effect of shocks on a run, from its rows of epochs: saturation, its duration, and the recovery of accuracy.

Legend: a shock's window has n + 1 epochs, the shocked one and n of recovery.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any

from plasticity_lab.records.measures import Column, Measure, Measures, mean, percent

if TYPE_CHECKING:
    import pyarrow as pa

FACTOR, SATURATED, ACCURACY = "shock_factor", "shock_saturated", "shock_accuracy"
REGAINED = 0.95
"""The part of the accuracy before a shock that counts as recovered.  Source: Appendix D.4."""


_COLUMNS = (
    Column(Measure(FACTOR, "Factor of pre-activations in a shocked epoch", places=2), FACTOR, {"epoch": "value"}),
    Column(percent(SATURATED, "Saturated pairs, as the epoch was", "less"), SATURATED, {"epoch": "value"}),
    Column(percent(ACCURACY, "Accuracy on the task's held-out images", "more"), ACCURACY, {"epoch": "value"}),
)
SUMMARIES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        percent("shock_peak", "Most that is saturated after a shock", "less", "peak SF"),
        Measure("shock_ausc", "Area under saturation after a shock", "epochs", 1.0, 4, "less", "AUSC"),
        Measure("shock_excess_ausc", "The same above saturation before it", "epochs", 1.0, 4, "less", "excess AUSC"),
        Measure("shock_half", "Epochs until saturation has halved", "epochs", 1.0, 2, "less", "half"),
        percent("shock_unrecovered", "Shocks after which saturation never halves", "less", "non-recovery"),
        Measure(
            "shock_half_above_rest", "Epochs until saturation is half way back", "epochs", 1.0, 2, "less", "half way"
        ),
        percent("shock_unrecovered_above_rest", "Shocks after which saturation never comes half way back", "less"),
        Measure("shock_recovery95", "Epochs until 95 % of the accuracy is back", "epochs", 1.0, 2, "less", "τ95"),
        percent("shock_unrecovered95", "Shocks after which 95 % of the accuracy never comes back", "less"),
        percent("shock_without_rise", "Shocks that raise no saturation", ""),
        Measure("shocks_measured", "Shocks that are measured", places=0),
        Measure("shocks_given", "Shocks", places=0),
    )
}
"""The summaries: means over the measured shocks; numbers of epochs are means over the shocks that recover."""


@dataclass(frozen=True)
class Shock:
    """One shock. task, epoch: the shocked epoch of the run, from 0. factor: γ.

    before, accuracy_before: the saturated fraction and the accuracy after the epoch before it. saturated, accuracy
    (n + 1,): a₀ at the end of the shocked epoch, with γ, then a₁ … aₙ after each epoch of recovery. whole: whether all
    of them were measured, before the next shock and the task's end.
    """

    task: int
    epoch: int
    factor: float
    before: float
    accuracy_before: float
    saturated: Sequence[float]
    accuracy: Sequence[float]
    whole: bool

    @property
    def peak(self) -> float:
        """The greatest of a₀ … aₙ."""
        return max(self.saturated)

    @property
    def ausc(self) -> float:
        """Σₖ (aₖ + aₖ₊₁) / 2 for k = 0 … n − 1: the area under saturation, in epochs."""
        return sum((one + next_) / 2 for one, next_ in zip(self.saturated, self.saturated[1:], strict=False))

    @property
    def excess_ausc(self) -> float:
        """The area under aₖ − b."""
        return self.ausc - self.before * (len(self.saturated) - 1)

    @property
    def rises(self) -> bool:
        """Whether the shocked epoch ends with more saturation than the one before it."""
        return self.saturated[0] > self.before

    @property
    def half(self) -> int | None:
        """The least k ≥ 1 with aₖ ≤ a₀ / 2; None if no k has that.  Source: Figure 2 ("epochs to halve")."""
        return _first(value <= self.saturated[0] / 2 for value in self.saturated[1:])

    @property
    def half_above_rest(self) -> int | None:
        """The least k ≥ 1 with aₖ ≤ b + (a₀ − b) / 2: a run with b above a₀ / 2 can recover too."""
        return _first(value <= self.before + (self.saturated[0] - self.before) / 2 for value in self.saturated[1:])

    @property
    def recovery95(self) -> int | None:
        """τ₉₅: the least k ≥ 1 with at least 95 % of the accuracy before the shock; None if no k has that."""
        return _first(value >= REGAINED * self.accuracy_before for value in self.accuracy[1:])


def shocks_in(epochs: Sequence[Mapping[str, Any]], cycle: int) -> list[Shock]:
    """The shocks in a run's rows of epochs, in their order.  cycle: epochs from one to the next of a task."""
    shocks = []
    for at, row in enumerate(epochs):
        if row[FACTOR] is None:
            continue
        window = [each for each in epochs[at : at + cycle] if each["task"] == row["task"]]
        earlier = [each for each in epochs[max(0, at - 1) : at] if each["task"] == row["task"]]
        measured = [[each[name] for each in (*earlier, *window)] for name in (SATURATED, ACCURACY)]
        saturated, accuracy = ([nan if value is None else value for value in values] for values in measured)
        complete = None not in (*measured[0], *measured[1])
        before, accuracy_before = (saturated.pop(0), accuracy.pop(0)) if earlier else (nan, nan)
        whole = bool(earlier) and len(window) == cycle > 1 and complete
        shocks.append(
            Shock(row["task"], row["epoch"], row[FACTOR], before, accuracy_before, saturated, accuracy, whole)
        )
    return shocks


def summary_of(shocks: Sequence[Shock]) -> dict[str, float | None]:
    """The numbers of SUMMARIES."""
    whole = [shock for shock in shocks if shock.whole]
    areas = ("peak", "ausc", "excess_ausc")
    summary = {f"shock_{name}": mean([getattr(shock, name) for shock in whole]) for name in areas}
    for name, never in (
        ("half", "unrecovered"),
        ("half_above_rest", "unrecovered_above_rest"),
        ("recovery95", "unrecovered95"),
    ):
        epochs = [getattr(shock, name) for shock in whole]
        summary[f"shock_{name}"] = mean([each for each in epochs if each is not None])
        summary[f"shock_{never}"] = mean([each is None for each in epochs])
    return summary | {
        "shock_without_rise": mean([not shock.rises for shock in whole]),
        "shocks_measured": float(len(whole)),
        "shocks_given": float(len(shocks)),
    }


def with_shocks(measures: Measures, cycle: int) -> Measures:
    """An agent's measures with the measures of shocks.  cycle: epochs from one to the next of a task."""

    def summarise(table: "pa.Table") -> dict[str, float | None]:
        names = ["kind", "task", "epoch", FACTOR, SATURATED, ACCURACY]
        epochs = [row for row in table.select(names).to_pylist() if row["kind"] == "epoch"]
        return {**measures.summarise(table), **summary_of(shocks_in(epochs, cycle))}

    columns, summaries = (*measures.columns, *_COLUMNS), (*measures.summaries, *SUMMARIES.values())
    return replace(measures, columns=columns, summaries=summaries, summarise=summarise)


def _first(holds: Any) -> int | None:
    """The position of the first true value, counted from 1; None without a true value."""
    return next((at for at, each in enumerate(holds, 1) if each), None)
