"""Cells of the paper's tables next to cells that were measured at the paper's settings, and how close they are."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.conf import FOLDER, option
from analysis.reported import Key, Published, lines_of, published
from analysis.rows import grouped
from analysis.tables.declared.means import TABLE2, TABLE_E3, TABLES_E4_E8
from analysis.tables.paper import LEVEL, p_of_difference, shown_equal
from analysis.tables.result import Result
from analysis.tables.table import Table

MEASURED = Path(__file__).resolve().parents[1] / "measured"
PRINTED: Mapping[str, tuple[str, Sequence[Table[Result]]]] = {
    "table2_taoa.csv": ("Table 2", (TABLE2,)),
    "tableG2_G3_taoa.csv": ("Tables G2, G3", (TABLE2,)),
    "tableE3_generalization_gap.csv": ("Table E3", (TABLE_E3,)),
    "tableE4_E8_interventions.csv": ("Tables E4–E8", TABLES_E4_E8),
}
"""A file in analysis/reported → the paper's name of its content, and our tables that show the same values."""
SDS = 2
POINTS = (1, 3)


@dataclass(frozen=True)
class Tried:
    """A measurement of a cell at other settings or with another protocol: the difference in words, and the mean."""

    words: str
    mean: float


@dataclass(frozen=True)
class Compared:
    """A printed cell that was computed, in the paper's unit: our mean, SD and n, and the paper's value.

    sd: None for one run. tried: other measurements of the cell.
    """

    table: str
    benchmark: str
    activation: str
    mean: float
    sd: float | None
    n: int
    paper: Published
    tried: Sequence[Tried] = ()
    intervention: str = "none"

    @property
    def apart(self) -> float:
        """Our mean minus the paper's mean."""
        return self.mean - self.paper.mean

    @property
    def p(self) -> float | None:
        """The p-value of Welch's test for equal means; None for one run."""
        if self.sd is None:
            return None
        return p_of_difference(self.mean, self.sd, self.n, self.paper)

    @property
    def equal(self) -> bool:
        """Whether both means are shown equal within a percentage point; False for one run."""
        return self.sd is not None and shown_equal(self.mean, self.sd, self.n, self.paper)

    @property
    def within_sds(self) -> bool:
        """Whether the means are within two pooled SDs, √((ours² + the paper's²) / 2); False for one run."""
        return self.sd is not None and abs(self.apart) <= SDS * math.sqrt((self.sd**2 + self.paper.sd**2) / 2)


@dataclass(frozen=True)
class Share:
    """The number of computed cells, and how many are close to the paper's.

    within_sds: the number within two pooled SDs. within: the numbers within one and within three points.
    not_told_apart: the number not significantly different from the paper's by Welch's test (p ≥ 0.05). equal: the
    number shown equal within a percentage point. A cell of one seed has no SD and no test.
    """

    computed: int
    within_sds: int
    within: tuple[int, ...]
    not_told_apart: int
    equal: int


@dataclass(frozen=True)
class Ranks:
    """Spearman's rank correlation between our means and the paper's, over the n activations of a column."""

    table: str
    benchmark: str
    intervention: str
    n: int
    correlation: float


def printed(file: str) -> dict[Key, Published]:
    """The cells of a file in analysis/reported, each with its metric, without the repeated cells in Tables E4 to E8."""
    _, (table, *_) = PRINTED[file]
    return {
        key._replace(metric=key.metric or table.cell): value
        for key, value in published([file]).items()
        if key.metric is None or key.intervention != "none"
    }


def compared(folder: Path = MEASURED) -> list[Compared]:
    """The computed cells: measured in `<benchmark>_as_published`, with the settings of Tables E2, G4, E9 to E11.

    Other measurements of such a cell in the folder (other settings, other protocols) are in `tried`. Runs of a shorter
    schedule are left out.
    """
    found: list[Compared] = []
    for file, (name, tables) in PRINTED.items():
        of_cell: dict[Key, list[tuple[str, Mapping[str, str]]]] = {}
        for path in sorted(path for table in tables for path in folder.glob(f"*/{table.name}.csv")):
            for line in lines_of(path):
                if line["mean"] and line["schedule"] == "full":
                    key = Key(line["benchmark"], line["activation"], line["intervention"], line["metric"])
                    of_cell.setdefault(key, []).append((path.parent.name, line))
        for key, paper in printed(file).items():
            if key in of_cell:
                found += _compared(name, key, paper, of_cell[key])
    return found


def _compared(
    table: str, key: Key, paper: Published, measured: Sequence[tuple[str, Mapping[str, str]]]
) -> list[Compared]:
    wanted, as_published = _settings(key), f"{key.benchmark}_as_published"
    ours, tried = [], []
    for folder, line in measured:
        others = {name: value for name, value in json.loads(line["settings"]).items() if wanted.get(name) != value}
        if folder == as_published and not others:
            ours.append(line)
            continue
        words = [f"{name.removeprefix('activation.')}={value}" for name, value in others.items()]
        words += [folder] * (folder != as_published)
        tried.append(Tried(", ".join(words), float(line["mean"])))
    return [
        Compared(
            table,
            key.benchmark,
            key.activation,
            mean=float(line["mean"]),
            sd=float(line["sd"]) if line["sd"] else None,
            n=int(line["n"]),
            paper=paper,
            tried=tried,
            intervention=key.intervention,
        )
        for line in ours
    ]


def _settings(key: Key) -> dict[str, Any]:
    """The published settings, and the default values of the activation and the intervention for all others."""
    best = _best("best_supervised.csv", benchmark=key.benchmark, activation=key.activation)
    activation = {**option("activation", key.activation), **json.loads(best["hyperparameters"])}
    wanted: dict[str, Any] = {f"activation.{name}": value for name, value in activation.items()}
    if key.intervention != "none":
        names = {"benchmark": key.benchmark, "activation": key.activation, "intervention": key.intervention}
        best = _best("best_with_interventions.csv", **names)
        intervention = {**option("intervention", key.intervention), "strength": float(best["strength"])}
        wanted |= {f"intervention.{name}": value for name, value in intervention.items()}
    return {**wanted, "optimizer.lr": float(best["lr"])}


def _best(file: str, **names: str) -> Mapping[str, str]:
    lines = lines_of(FOLDER / "published" / file)
    return next(line for line in lines if names.items() <= line.items())


def share(cells: Sequence[Compared]) -> Share:
    """The share of the given cells."""
    return Share(
        len(cells),
        sum(cell.within_sds for cell in cells),
        tuple(sum(abs(cell.apart) <= points for cell in cells) for points in POINTS),
        sum(cell.p is not None and cell.p >= LEVEL for cell in cells),
        sum(cell.equal for cell in cells),
    )


def ranks(cells: Sequence[Compared]) -> list[Ranks]:
    """The rank correlation of each column with at least three computed cells, cells of one seed included."""
    import scipy.stats

    found = []
    for names, column in sorted(grouped(cells, lambda cell: (cell.table, cell.benchmark, cell.intervention)).items()):
        if len(column) >= 3:
            ours, paper = [cell.mean for cell in column], [cell.paper.mean for cell in column]
            correlation: Any = scipy.stats.spearmanr(ours, paper)  # SciPy brings no types
            found.append(Ranks(*names, len(column), float(correlation.statistic)))
    return found


def misses(cells: Sequence[Compared]) -> list[Compared]:
    """The cells outside both two pooled SDs and one point, the worst first."""
    missed = [cell for cell in cells if not cell.within_sds and abs(cell.apart) > POINTS[0]]
    return sorted(missed, key=lambda cell: -abs(cell.apart))
