"""Cells of the paper's tables beside those that were measured at its settings, and what else was tried for them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from analysis.reported.reported import Published, lines_of, published
from analysis.tables.table2 import TABLE2
from analysis.tables.table_e3 import TABLE_E3

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "analysis" / "measured"
NAMES = {
    "table2_taoa.csv": "Table 2",
    "tableG2_G3_taoa.csv": "Tables G2, G3",
    "tableE3_generalization_gap.csv": "Table E3",
}
"""The paper's name of what a file in analysis/reported holds."""


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

    @property
    def apart(self) -> float:
        """Ours less the paper's."""
        return self.mean - self.paper.mean

    @property
    def pooled_sd(self) -> float | None:
        """√((ours² + the paper's²) / 2); None of one run."""
        return None if self.sd is None else math.sqrt((self.sd**2 + self.paper.sd**2) / 2)


def compared(folder: Path = MEASURED) -> list[Compared]:
    """The cells that are computed: measured in `<benchmark>_as_published`, with the settings of Tables E2 and G4.

    Everything else that the folder has of such a cell (other settings, other protocols) is what was tried. Runs of a
    shorter schedule, or with an intervention, are neither.
    """
    found: list[Compared] = []
    for table in (TABLE2, TABLE_E3):
        of_cell: dict[tuple[str, str], list[tuple[str, Mapping[str, str]]]] = {}
        for path in sorted(folder.glob(f"*/{table.name}.csv")):
            for line in lines_of(path):
                if line["mean"] and (line["schedule"], line["intervention"]) == ("full", "none"):
                    of_cell.setdefault((line["benchmark"], line["activation"]), []).append((path.parent.name, line))
        for file in table.reported:
            for cell, paper in published([file]).items():
                found += _compared(NAMES[file], *cell, paper, of_cell.get(cell, []))
    return found


def _compared(
    table: str, benchmark: str, activation: str, paper: Published, measured: Sequence[tuple[str, Mapping[str, str]]]
) -> list[Compared]:
    wanted = _settings(benchmark, activation)
    ours, tried = [], []
    for folder, line in measured:
        others = {name: value for name, value in json.loads(line["settings"]).items() if wanted.get(name) != value}
        if folder == f"{benchmark}_as_published" and not others:
            ours.append(line)
        else:
            words = [f"{name.removeprefix('activation.')}={value}" for name, value in others.items()]
            words += [folder] * (folder != f"{benchmark}_as_published")
            tried.append(Tried(", ".join(words), float(line["mean"]), int(line["n"])))
    return [
        Compared(
            table,
            benchmark,
            activation,
            mean=float(line["mean"]),
            sd=float(line["sd"]) if line["sd"] else None,
            n=int(line["n"]),
            paper=paper,
            tried=tried,
        )
        for line in ours
    ]


def _settings(benchmark: str, activation: str) -> dict[str, Any]:
    """What the published settings of an activation leave no choice of: those, and its defaults for all others."""
    defaults = yaml.safe_load((ROOT / f"conf/activation/{activation}.yaml").read_text(encoding="utf-8"))
    bests = lines_of(ROOT / "conf/published/best_supervised.csv")
    best = next(line for line in bests if (line["benchmark"], line["activation"]) == (benchmark, activation))
    own = {**defaults, **json.loads(best["hyperparameters"])}
    return {**{f"activation.{name}": value for name, value in own.items()}, "optimizer.lr": float(best["lr"])}
