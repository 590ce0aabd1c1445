"""What the papers report, by benchmark and activation.

The CSV files beside this one are facts typed out of "Activation Function Design Sustains Plasticity in Continual
Learning" (Lillo & Cheney 2026, arXiv 2509.22562): `table2_taoa.csv` is its Table 2, `tableG2_G3_taoa.csv` the rows of
Tables G2 and G3 that Table 2 does not have, `tableE3_generalization_gap.csv` its Table E3. Percent, mean ± SD over 5
runs, in the columns <metric>_mean and <metric>_sd.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Published:
    """One published value, in the paper's unit (percent): mean ± SD over its runs."""

    mean: float
    sd: float


def published(files: Sequence[str]) -> dict[tuple[str, str], Published]:
    """(benchmark, activation) → the published value, in the order of the files and of their lines.

    A benchmark without published values, as those on the embedded digits, is not there: nothing stands in for it.
    """
    values = {}
    for name in files:
        with (FOLDER / name).open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                mean, sd = (next(line[name] for name in line if name.endswith(end)) for end in ("_mean", "_sd"))
                values[line["benchmark"], line["activation"]] = Published(float(mean), float(sd))
    return values
