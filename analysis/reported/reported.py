"""What the papers report: the lines of the CSV files beside this one, which README.md describes."""

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
    """Which cell of a file. metric is None where all of the file is one, which the table that shows it knows."""

    benchmark: str
    activation: str
    intervention: str = "none"
    metric: str | None = None


def published(files: Sequence[str]) -> dict[Key, Published]:
    """The published values of files that have a column for the benchmark, in the order of the files and of their lines.

    A benchmark without published values, as those on the embedded digits, is not there: nothing stands in for it.
    """
    return {
        Key(
            line["benchmark"], line["activation"], line.get("intervention", "none"), line.get("metric_read_as")
        ): value_of(line)
        for name in files
        for line in lines(name)
    }


def value_of(line: Mapping[str, str]) -> Published:
    """The value in a line of a file, whatever its columns are called before `mean` and `sd`."""
    mean, sd = (next(line[name] for name in line if name.endswith(end)) for end in ("mean", "sd"))
    return Published(float(mean), float(sd))


def lines(file: str | Path) -> list[dict[str, str]]:
    """The lines of a file, by its name in this folder or by its path: column → the text as printed."""
    return lines_of(FOLDER / file)


def lines_of(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file with a heading: column → text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
