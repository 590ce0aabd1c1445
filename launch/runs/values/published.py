"""What papers report as best: tables of conf/published, looked up by benchmark and activation."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch.runs.options import BenchmarkAlone
from launch.runs.values.place import Combination, Values, extras_of
from plasticity_lab.component import as_typed
from plasticity_lab.errors import ConfigError

COLUMNS = ("benchmark", "activation", "lr", "hyperparameters")


@dataclass(frozen=True)
class Published:
    """A table of published values: (benchmark, activation) → group → setting → value."""

    rows: Mapping[tuple[str, str], Values]

    def benchmark_for(self, name: str, stand_in: str | None) -> str | None:
        """The benchmark whose values are used: the named one, else its stand-in, else None."""
        known = {benchmark for benchmark, _ in self.rows}
        return next((each for each in (name, stand_in) if each in known), None)


class Tables:
    """The published tables in a folder, each read once; an absolute path names a file elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, Published] = {}

    def together(self, names: str | Sequence[str]) -> Published:
        """One table, or the rows of several.  Raises ConfigError if one cannot be read, or two have one place."""
        rows: dict[tuple[str, str], Values] = {}
        for name in [names] if isinstance(names, str) else names:
            own = self.table(name).rows
            if twice := rows.keys() & own.keys():
                benchmark, activation = min(twice)
                raise ConfigError(
                    f"hyperparams: {activation} on {benchmark} stands in {name} and in a table before it; of such rows "
                    "there can be one."
                )
            rows |= own
        return Published(rows)

    def path(self, name: str) -> Path:
        """Where a table is."""
        return self._folder / name

    def table(self, name: str) -> Published:
        """One table.  Raises ConfigError if it cannot be read."""
        if name not in self._read:
            self._read[name] = read_published(self.path(name))
        return self._read[name]


class Rows:
    """The published rows of the places of one command, and what was found elsewhere or not at all."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._stand_ins: dict[str, str] = {}
        self._missing: dict[str, list[str]] = {}

    def row(self, names: str | Sequence[str], place: Combination) -> Values | None:
        """That of an activation on a benchmark, or on its stand-in, in some tables; None if there is none."""
        published, benchmark = self._tables.together(names), place.benchmark
        source = published.benchmark_for(benchmark.name, extras_of(benchmark, BenchmarkAlone).stand_in)
        if source is not None and source != benchmark.name:
            self._stand_ins[benchmark.name] = source
        row = published.rows.get((source or "", place.activation.name))
        if row is None:
            self._missing.setdefault(benchmark.name, []).append(place.activation.name)
        return row

    def notes(self) -> list[str]:
        """Stand-ins and misses, in one line each."""
        lines = []
        if self._stand_ins:
            pairs = ", ".join(f"{source} for {name}" for name, source in self._stand_ins.items())
            lines.append(f"hyperparams: published values of a stand-in are used: {pairs}.")
        if self._missing:
            places = "; ".join(f"{', '.join(dict.fromkeys(names))} on {name}" for name, names in self._missing.items())
            lines.append(f"hyperparams: nothing is published for {places}; their defaults are used.")
        return lines


def read_published(path: Path) -> Published:
    """The table in a CSV file with the columns benchmark, activation, lr, hyperparameters (JSON).

    Raises ConfigError if there is no such file, or if a line of it cannot be read.
    """
    return Published(
        {
            (line["benchmark"], line["activation"]): {
                "optimizer": {"lr": number(line, "lr", at)},
                "activation": _shape(line, at),
            }
            for line, at in published_lines(path, COLUMNS)
        }
    )


def published_lines(path: Path, columns: Sequence[str]) -> Iterator[tuple[dict[str, str], str]]:
    """The lines of a published table, each with the words by which an error names it.

    Raises ConfigError if there is no such file, if it cannot be read, or if it lacks one of these columns.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = csv.DictReader(file)
            if set(columns) - set(lines.fieldnames or ()):
                raise ConfigError(f"hyperparams: {path} needs the columns {', '.join(columns[:-1])} and {columns[-1]}.")
            for line in lines:
                yield line, f"hyperparams: {path}, line {lines.line_num}"
    except FileNotFoundError as error:
        raise ConfigError(f"hyperparams: the table {path} does not exist.") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is no table of values with commas between them"
        raise ConfigError(f"hyperparams: the table {path} cannot be read: {reason}.") from error


def number(line: Mapping[str, str | None], name: str, where: str) -> float:
    """The number in a column of a line.  Raises ConfigError."""
    try:
        return float(line[name] or "")
    except ValueError as error:
        raise ConfigError(f"{where}: {name} is {as_typed(line[name])}; it must be a number.") from error


def _shape(line: Mapping[str, str | None], where: str) -> dict[str, Any]:
    try:
        shape = json.loads(line["hyperparameters"] or "")
    except ValueError:
        shape = None
    if not isinstance(shape, dict):
        given = as_typed(line["hyperparameters"])
        raise ConfigError(f'{where}: hyperparameters is {given}; it must be JSON, as in {{"negative_slope": 0.1}}.')
    return shape
