"""Cells of the paper's tables beside those that were measured at its settings, and what else was tried for them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.conf import FOLDER, option
from analysis.reported.reported import Key, Published, lines_of, published
from analysis.statistics.welch import welch_of_summaries
from analysis.tables.declared.table2 import TABLE2
from analysis.tables.declared.table_e3 import TABLE_E3
from analysis.tables.declared.table_e4_e8 import TABLES_E4_E8
from analysis.tables.result import Result
from analysis.tables.table import Table

MEASURED = Path(__file__).resolve().parents[1] / "measured"
PRINTED: Mapping[str, tuple[str, Sequence[Table[Result]]]] = {
    "table2_taoa.csv": ("Table 2", (TABLE2,)),
    "tableG2_G3_taoa.csv": ("Tables G2, G3", (TABLE2,)),
    "tableE3_generalization_gap.csv": ("Table E3", (TABLE_E3,)),
    "tableE4_E8_interventions.csv": ("Tables E4–E8", TABLES_E4_E8),
}
"""A file in analysis/reported → the paper's name of what it holds, and our tables that show it."""


PAPERS_SEEDS = 5
"""Over which its means and SDs are by the captions of Tables 3, F1 and F2; those of the other tables do not say it, and
are taken to be alike."""


@dataclass(frozen=True)
class Tried:
    """A measurement of a cell at other settings, or of another protocol: how it differed, and what it came to."""

    words: str
    mean: float
    n: int


@dataclass(frozen=True)
class Compared:
    """A printed cell that was computed, in the paper's unit: mean, SD (None of one run) and n of ours, and the paper's.

    tried: what else was measured of it.
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
        """Ours less the paper's."""
        return self.mean - self.paper.mean

    @property
    def p(self) -> float | None:
        """Of Welch's test, whether both have one mean; None of one run."""
        if self.sd is None:
            return None
        return welch_of_summaries((self.mean, self.sd, self.n), (self.paper.mean, self.paper.sd, PAPERS_SEEDS))

    @property
    def pooled_sd(self) -> float | None:
        """√((ours² + the paper's²) / 2); None of one run."""
        return None if self.sd is None else math.sqrt((self.sd**2 + self.paper.sd**2) / 2)


def printed(file: str) -> dict[Key, Published]:
    """The cells of a file in analysis/reported, each with its metric, without what E4 to E8 repeat of Table 2."""
    _, (table, *_) = PRINTED[file]
    cells = published([file])
    kept = {key: value for key, value in cells.items() if key.metric is None or key.intervention != "none"}
    return {key._replace(metric=key.metric or table.cell): value for key, value in kept.items()}


def compared(folder: Path = MEASURED) -> list[Compared]:
    """The cells that are computed: measured in `<benchmark>_as_published`, with the settings of E2, G4, E9 to E11.

    Everything else that the folder has of such a cell (other settings, other protocols) is what was tried. Runs of a
    shorter schedule are neither.
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
        else:
            words = [f"{name.removeprefix('activation.')}={value}" for name, value in others.items()]
            words += [folder] * (folder != as_published)
            tried.append(Tried(", ".join(words), float(line["mean"]), int(line["n"])))
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
    """What the published settings leave no choice of: those, and the defaults of activation and intervention."""
    best = _best("best_supervised.csv", benchmark=key.benchmark, activation=key.activation)
    activation = {**option("activation", key.activation), **json.loads(best["hyperparameters"])}
    wanted: dict[str, Any] = {f"activation.{name}": value for name, value in activation.items()}
    if key.intervention == "none":
        return {**wanted, "optimizer.lr": float(best["lr"])}
    names = {"benchmark": key.benchmark, "activation": key.activation, "intervention": key.intervention}
    best = _best("best_with_interventions.csv", **names)
    intervention = {**option("intervention", key.intervention), "strength": float(best["strength"])}
    wanted |= {f"intervention.{name}": value for name, value in intervention.items()}
    return {**wanted, "optimizer.lr": float(best["lr"])}


def _best(file: str, **names: str) -> Mapping[str, str]:
    lines = lines_of(FOLDER / "published" / file)
    return next(line for line in lines if all(line[key] == name for key, name in names.items()))
