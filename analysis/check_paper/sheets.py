"""The paper's tables as columns of printed numbers, under the names by which its claims call them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from analysis.check_paper.printed import Printed
from analysis.names import ACTIVATIONS, BENCHMARKS, display
from analysis.reported.reported import lines

NAMES = {
    "random_label_cifar": "Random Label CIFAR",
    "iid": "i.i.d.",
    "class_incremental": "C-IL",
    "none": "Vanilla",
    "l2_init": "+L2-Init",
    "iqm": "score",
    "iqm_delta": "IQM of Δ",
}


@dataclass(frozen=True)
class Cell:
    """A printed mean, and its SD where there is one."""

    mean: Printed
    sd: Printed | None = None


@dataclass(frozen=True)
class Sheet:
    """A table: its lines, the field that names its columns, and the fields that hold mean and SD.

    Without a field that names columns, each field of numbers is a column.
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
        there = [row for row in self.rows if row[self.by] == name]
        return {row["activation"]: Cell(Printed(row[self.mean]), Printed(row[self.sd])) for row in there}


@cache
def sheets() -> dict[str, Sheet]:
    """Every table of results, by its name in the paper."""
    taoa, interventions = lines("table2_taoa.csv"), lines("tableE4_E8_interventions.csv")
    listed = [
        Sheet("Table 1", lines("table1_split_cifar100.csv"), "setting", "accuracy_mean", "accuracy_sd"),
        Sheet("Table 2", taoa, "benchmark", "taoa_mean", "taoa_sd"),
        Sheet("Table 3", lines("table3_plasticity_score.csv")),
        Sheet("Table 4", lines("table4_gap_delta.csv")),
        Sheet("Table E3", lines("tableE3_generalization_gap.csv"), "benchmark", "gap_mean", "gap_sd"),
        *(
            Sheet(name, [row for row in interventions if row["benchmark"] == benchmark], "intervention", "mean", "sd")
            for name, benchmark in zip(
                ("Table E4", "Table E5", "Table E6", "Table E7", "Table E8"),
                dict.fromkeys(row["benchmark"] for row in interventions),
                strict=True,
            )
        ),
        Sheet("Table F1", lines("tableF1_plasticity_score.csv")),
        Sheet("Table F2", lines("tableF2_reward.csv"), "env", "reward_mean", "reward_sd"),
        Sheet("Table F3", lines("tableF3_gap_delta.csv")),
        Sheet("Table G2", [*taoa, *lines("tableG2_G3_taoa.csv")], "benchmark", "taoa_mean", "taoa_sd"),
    ]
    return {sheet.name: sheet for sheet in listed}


def named(name: str) -> str:
    """An activation, a benchmark or a column as it is read."""
    return NAMES.get(name) or display({**ACTIVATIONS, **BENCHMARKS}, name)
