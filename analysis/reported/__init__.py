"""The values that the papers report: the lines of this folder's CSV files (README.md describes them)."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Published:
    """One published value, in the paper's unit (percent): mean ± SD over its runs."""

    mean: float
    sd: float


class Key(NamedTuple):
    """A cell of a file.  metric: None if the whole file has one metric, the one of its table."""

    benchmark: str
    activation: str
    intervention: str = "none"
    metric: str | None = None


def published(files: Sequence[str]) -> dict[Key, Published]:
    """The published values of files with a column for the benchmark, in the order of the files and their lines.

    Benchmarks without published values, such as the embedded digits, are missing.
    """
    values = {}
    for line in (line for name in files for line in lines(name)):
        intervention, metric = line.get("intervention", "none"), line.get("metric_read_as")
        values[Key(line["benchmark"], line["activation"], intervention, metric)] = value_of(line)
    return values


def value_of(line: Mapping[str, str]) -> Published:
    """The value in a line of a file; the names of the columns may have any words before `mean` and `sd`."""
    mean, sd = (next(line[name] for name in line if name.endswith(end)) for end in ("mean", "sd"))
    return Published(float(mean), float(sd))


def lines(file: str | Path) -> list[dict[str, str]]:
    """The lines of a file, by its name in this folder or by its path: column → the text as printed."""
    return lines_of(FOLDER / file)


def lines_of(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file with a heading: column → text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
