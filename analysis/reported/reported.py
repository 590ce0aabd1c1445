"""What the papers report: the lines of the CSV files beside this one, which README.md describes."""

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
    for line in (line for name in files for line in lines(name)):
        mean, sd = (next(line[name] for name in line if name.endswith(end)) for end in ("_mean", "_sd"))
        values[line["benchmark"], line["activation"]] = Published(float(mean), float(sd))
    return values


def lines(file: str) -> list[dict[str, str]]:
    """The lines of a file in this folder: column → the text as printed."""
    return lines_of(FOLDER / file)


def lines_of(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file with a heading: column → text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
