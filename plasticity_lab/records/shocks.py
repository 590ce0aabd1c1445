"""What shocks do to a run, read off its epochs: how much is saturated, for how long, and when accuracy is back.

Legend: a shock's window has n + 1 epochs, the shocked one and n of recovery.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from plasticity_lab.records.measures import Better, Column, Measure, Measures

if TYPE_CHECKING:
    import pyarrow as pa

FACTOR, SATURATED, ACCURACY = "shock_factor", "shock_saturated", "shock_accuracy"
REGAINED = 0.95
"""The part of the accuracy before a shock at which it is back.  Source: Appendix D.4."""


def _percent(name: str, title: str, better: Better, short: str = "") -> Measure:
    return Measure(name, title, "%", 100.0, 2, better, short)


_COLUMNS = (
    Column(Measure(FACTOR, "Factor of pre-activations in a shocked epoch", places=2), FACTOR, {"epoch": "value"}),
    Column(_percent(SATURATED, "Saturated pairs, as the epoch was", "less"), SATURATED, {"epoch": "value"}),
    Column(_percent(ACCURACY, "Accuracy on the task's held-out images", "more"), ACCURACY, {"epoch": "value"}),
)
SUMMARIES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        _percent("shock_peak", "Most that is saturated after a shock", "less", "peak SF"),
        Measure("shock_ausc", "Area under saturation after a shock", "epochs", 1.0, 4, "less", "AUSC"),
        Measure("shock_excess_ausc", "The same above saturation before it", "epochs", 1.0, 4, "less", "excess AUSC"),
        Measure("shock_half", "Epochs until saturation has halved", "epochs", 1.0, 2, "less", "half"),
        _percent("shock_unrecovered", "Shocks whose saturation never halves", "less", "non-recovery"),
        Measure(
            "shock_half_above_rest", "Epochs until saturation is half way back", "epochs", 1.0, 2, "less", "half way"
        ),
        _percent("shock_unrecovered_above_rest", "Shocks whose saturation never comes half way back", "less"),
        Measure("shock_recovery95", "Epochs until 95 % of the accuracy is back", "epochs", 1.0, 2, "less", "τ95"),
        _percent("shock_unrecovered95", "Shocks after which 95 % of the accuracy never comes back", "less"),
        _percent("shock_without_rise", "Shocks that raise no saturation", ""),
        Measure("shocks_measured", "Shocks that are measured", places=0),
        Measure("shocks_given", "Shocks", places=0),
    )
}
"""What a summary has: means over the shocks that are measured; epochs are means over those that recover."""


@dataclass(frozen=True)
class Shock:
    """One shock. task, epoch: which epoch of the run was shocked, from 0. factor: γ.

    before, accuracy_before: the saturated fraction and the accuracy when the epoch before it had ended. saturated,
    accuracy (n + 1,): a₀ at the end of the shocked epoch, with γ, then a₁ … aₙ after each epoch of recovery. whole:
    whether all of these are there, the next shock and the task's end being far enough.
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
        """The same of aₖ − b."""
        return self.ausc - self.before * (len(self.saturated) - 1)

    @property
    def rises(self) -> bool:
        """Whether the shocked epoch ends with more that is saturated than the one before it."""
        return self.saturated[0] > self.before

    @property
    def half(self) -> int | None:
        """The least k ≥ 1 with aₖ ≤ a₀ / 2; None where there is none.  Source: Figure 2 ("epochs to halve")."""
        return _first(value <= self.saturated[0] / 2 for value in self.saturated[1:])

    @property
    def half_above_rest(self) -> int | None:
        """The least k ≥ 1 with aₖ ≤ b + (a₀ − b) / 2: what rests above a₀ / 2 can recover too."""
        return _first(value <= self.before + (self.saturated[0] - self.before) / 2 for value in self.saturated[1:])

    @property
    def recovery95(self) -> int | None:
        """τ₉₅: the least k ≥ 1 after which the accuracy is at least 95 % of the one before the shock; None: none is."""
        return _first(value >= REGAINED * self.accuracy_before for value in self.accuracy[1:])


def shocks_of(table: "pa.Table", cycle: int) -> list[Shock]:
    """The shocks of a run, in their order, out of its metrics.  cycle: epochs from one to the next of a task."""
    names = ["kind", "task", "epoch", FACTOR, SATURATED, ACCURACY]
    return shocks_in([row for row in table.select(names).to_pylist() if row["kind"] == "epoch"], cycle)


def shocks_in(epochs: Sequence[Mapping[str, Any]], cycle: int) -> list[Shock]:
    """The same, of a run's rows of epochs in their order."""
    found = []
    for at, row in enumerate(epochs):
        if row[FACTOR] is None:
            continue
        window = [each for each in epochs[at : at + cycle] if each["task"] == row["task"]]
        earlier = epochs[at - 1] if at and epochs[at - 1]["task"] == row["task"] else None
        numbers = [row if earlier is None else earlier, *window]
        is_there = all(each[name] is not None for each in numbers for name in (SATURATED, ACCURACY))
        nothing = float("nan")
        found.append(
            Shock(
                row["task"],
                row["epoch"],
                row[FACTOR],
                nothing if earlier is None else _number(earlier[SATURATED]),
                nothing if earlier is None else _number(earlier[ACCURACY]),
                [_number(each[SATURATED]) for each in window],
                [_number(each[ACCURACY]) for each in window],
                whole=earlier is not None and len(window) == cycle > 1 and is_there,
            )
        )
    return found


def summary_of(shocks: Sequence[Shock]) -> dict[str, float | None]:
    """The numbers of SUMMARIES."""
    whole = [shock for shock in shocks if shock.whole]
    halves, above, back = (
        [getattr(shock, name) for shock in whole] for name in ("half", "half_above_rest", "recovery95")
    )
    return {
        "shock_peak": _mean([shock.peak for shock in whole]),
        "shock_ausc": _mean([shock.ausc for shock in whole]),
        "shock_excess_ausc": _mean([shock.excess_ausc for shock in whole]),
        "shock_half": _mean([each for each in halves if each is not None]),
        "shock_unrecovered": _mean([each is None for each in halves]),
        "shock_half_above_rest": _mean([each for each in above if each is not None]),
        "shock_unrecovered_above_rest": _mean([each is None for each in above]),
        "shock_recovery95": _mean([each for each in back if each is not None]),
        "shock_unrecovered95": _mean([each is None for each in back]),
        "shock_without_rise": _mean([not shock.rises for shock in whole]),
        "shocks_measured": float(len(whole)),
        "shocks_given": float(len(shocks)),
    }


def with_shocks(measures: Measures, cycle: int) -> Measures:
    """An agent's measures, and those of shocks.  cycle: epochs from one to the next of a task."""

    def summarise(table: "pa.Table") -> dict[str, float | None]:
        return {**measures.summarise(table), **summary_of(shocks_of(table, cycle))}

    columns, summaries = (*measures.columns, *_COLUMNS), (*measures.summaries, *SUMMARIES.values())
    return replace(measures, columns=columns, summaries=summaries, summarise=summarise)


def _first(holds: Any) -> int | None:
    """The number, from 1, of the first that holds."""
    return next((at for at, each in enumerate(holds, 1) if each), None)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _mean(values: Sequence[float]) -> float | None:
    """The mean, rounded once; None of nothing."""
    return fmean(map(float, values)) if values else None
