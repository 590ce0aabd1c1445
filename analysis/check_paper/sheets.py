"""The paper's tables as columns of printed numbers, and the outcome of one check of them.

A printed number is an interval: half a unit of its last digit to either side.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache

from analysis.names import ACTIVATIONS, BENCHMARKS, display
from analysis.reported import lines
from analysis.rows import grouped

NAMES = {
    "random_label_cifar": "Random Label CIFAR",
    "iid": "i.i.d.",
    "class_incremental": "C-IL",
    "none": "Vanilla",
    "l2_init": "+L2-Init",
    "iqm": "score",
    "iqm_delta": "IQM of Δ",
}


class Verdict(StrEnum):
    """Whether a claim is true, false, or either, over all numbers that round to the printed ones."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    table: the table that the report lists it under. claim: a statement of the paper, as one sentence for all its
    subjects. subject: the row, column or cell that was checked. arithmetic: the numbers behind the verdict.
    """

    table: str
    claim: str
    subject: str
    arithmetic: str
    verdict: Verdict


def judged(always: bool, never: bool | None = None) -> Verdict:
    """The verdict on a claim.

    always: whether the claim holds for all unrounded numbers that would print the same. never: whether it holds for
    none of them; default: the opposite of `always`, for claims that rounding cannot change.
    """
    if always == never:
        return Verdict.OPEN
    return Verdict.AGREES if always else Verdict.DISAGREES


@dataclass(frozen=True)
class Printed:
    """A printed number; the exact one lies in [low, high].  Decimal, so that sums at the border are exact."""

    text: str

    @property
    def value(self) -> Decimal:
        """The number itself."""
        return Decimal(self.text)

    @property
    def half(self) -> Decimal:
        """Half a unit of the last digit: 0.005 for 84.10, 50,000 for -1.0e6."""
        exponent = self.value.as_tuple().exponent
        if not isinstance(exponent, int):
            raise ValueError(f"{self.text} is no finite number.")
        return Decimal(5).scaleb(exponent - 1)

    @property
    def low(self) -> Decimal:
        """The smallest number that is printed like this."""
        return self.value - self.half

    @property
    def high(self) -> Decimal:
        """The greatest number that is printed like this."""
        return self.value + self.half

    def meets(self, low: Decimal, high: Decimal) -> bool:
        """Whether a number in [low, high] can have been printed like this."""
        return self.low <= high and low <= self.high

    def repeats(self, other: "Printed") -> bool:
        """Whether both can be the same number: equal at the same precision, otherwise one a rounding of the other."""
        return self.value == other.value if self.half == other.half else self.meets(other.low, other.high)

    def __str__(self) -> str:
        return self.text.replace("-", "−")


@dataclass(frozen=True)
class Cell:
    """A printed mean, and its SD if one is printed."""

    mean: Printed
    sd: Printed | None = None

    def __str__(self) -> str:
        return f"{self.mean} ± {self.sd}"


@dataclass(frozen=True)
class Sheet:
    """A table: its lines, the field that names its columns, and the fields that hold mean and SD.

    If no field names columns, each field of numbers is a column.
    """

    name: str
    rows: Sequence[Mapping[str, str]]
    by: str | None = None
    mean: str = ""
    sd: str = ""

    def columns(self) -> list[str]:
        """The names of the columns, in the order of the lines."""
        return list(dict.fromkeys(row[self.by] for row in self.rows)) if self.by else []

    def column(self, name: str) -> dict[str, Cell]:
        """Activation → cell."""
        if self.by is None:
            return {row["activation"]: Cell(Printed(row[name])) for row in self.rows}
        rows = [row for row in self.rows if row[self.by] == name]
        return {row["activation"]: Cell(Printed(row[self.mean]), Printed(row[self.sd])) for row in rows}

    def columns_of(self, claim: Mapping[str, str]) -> list[str]:
        """The columns that a claim is about: the one that it names, or all of them if it says `every`."""
        return self.columns() if claim["column"] == "every" else [claim["column"]]


@cache
def sheets() -> dict[str, Sheet]:
    """Every table of results, by its name in the paper."""
    taoa, interventions = lines("table2_taoa.csv"), lines("tableE4_E8_interventions.csv")
    by_benchmark = grouped(interventions, lambda row: row["benchmark"])
    listed = [
        Sheet("Table 1", lines("table1_split_cifar100.csv"), "setting", "accuracy_mean", "accuracy_sd"),
        Sheet("Table 2", taoa, "benchmark", "taoa_mean", "taoa_sd"),
        Sheet("Table 3", lines("table3_plasticity_score.csv")),
        Sheet("Table 4", lines("table4_gap_delta.csv")),
        Sheet("Table E3", lines("tableE3_generalization_gap.csv"), "benchmark", "gap_mean", "gap_sd"),
        *(
            Sheet(f"Table E{number}", rows, "intervention", "mean", "sd")
            for number, rows in zip(range(4, 9), by_benchmark.values(), strict=True)
        ),
        Sheet("Table F1", lines("tableF1_plasticity_score.csv")),
        Sheet("Table F2", lines("tableF2_reward.csv"), "env", "reward_mean", "reward_sd"),
        Sheet("Table F3", lines("tableF3_gap_delta.csv")),
        Sheet("Table G2", [*taoa, *lines("tableG2_G3_taoa.csv")], "benchmark", "taoa_mean", "taoa_sd"),
    ]
    return {sheet.name: sheet for sheet in listed}


def named(*names: str) -> str:
    """Activations, benchmarks and columns as they are read, with commas between them."""
    return ", ".join(NAMES.get(name) or display({**ACTIVATIONS, **BENCHMARKS}, name) for name in names)


# Aggregates of exact numbers.


def iqm(values: Iterable[Decimal]) -> Decimal:
    """The mean of the middle half.  Raises ValueError for a number of values that four does not divide."""
    ordered = sorted(values)
    cut, rest = divmod(len(ordered), 4)
    if rest or not cut:
        raise ValueError(f"The middle half of {len(ordered)} values would cut one of them.")
    return mean(ordered[cut:-cut])


def mean(values: Iterable[Decimal]) -> Decimal:
    """The arithmetic mean."""
    return statistics.mean(values)


def sd(values: Iterable[Decimal]) -> Decimal:
    """The sample standard deviation (divisor n − 1)."""
    return statistics.stdev(values)


def sd_of_rounding(n: int) -> Decimal:
    """By how much, in half units, rounding can move the SD of n numbers: |sd(x + e) − sd(x)| ≤ sd(e)."""
    return (Decimal(n) / (n - 1)).sqrt()
