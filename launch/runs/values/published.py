"""hyperparams=best: what papers report as best, looked up by benchmark and activation."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launch.runs.values.place import Found, Place, Rates, Values, unpinned
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

    def table(self, name: str) -> Published:
        """One table.  Raises ConfigError if it cannot be read."""
        if name not in self._read:
            self._read[name] = read_published(self._folder / name)
        return self._read[name]


class LookUp:
    """Published values for the places of one command, and what was found elsewhere or not at all."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._stand_ins: dict[str, str] = {}
        self._missing: dict[str, list[str]] = {}
        self._rates = Rates()

    def found(self, place: Place) -> Iterator[Found]:
        """The published values of an activation on a benchmark, or on its stand-in; none if there are none."""
        published = self._tables.together(place.rule.look_up)
        benchmark = place.benchmark
        source = published.benchmark_for(benchmark.name, benchmark.extras.stand_in)
        if source is not None and source != benchmark.name:
            self._stand_ins[benchmark.name] = source
        row = published.rows.get((source or "", place.activation.name))
        if row is None:
            self._missing.setdefault(benchmark.name, []).append(place.activation.name)
        values = unpinned(row or {}, place)
        if values and not self._rates.are_for(place):
            del values["optimizer"]
        yield Found(values, {} if row is not None else {"published": "nothing, so defaults"})

    def notes(self) -> list[str]:
        """Stand-ins, misses, and optimizers for which nothing is published, in one line each."""
        lines = []
        if self._stand_ins:
            pairs = ", ".join(f"{source} for {name}" for name, source in self._stand_ins.items())
            lines.append(f"hyperparams: published values of a stand-in are used: {pairs}.")
        if self._missing:
            places = "; ".join(f"{', '.join(dict.fromkeys(names))} on {name}" for name, names in self._missing.items())
            lines.append(f"hyperparams: nothing is published for {places}; their defaults are used.")
        return lines + self._rates.notes()


def read_published(path: Path) -> Published:
    """The table in a CSV file with the columns benchmark, activation, lr, hyperparameters (JSON).

    Raises ConfigError if there is no such file, or if a line of it cannot be read.
    """
    rows: dict[tuple[str, str], Values] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = csv.DictReader(file)
            if set(COLUMNS) - set(lines.fieldnames or ()):
                raise ConfigError(f"hyperparams: {path} needs the columns {', '.join(COLUMNS[:-1])} and {COLUMNS[-1]}.")
            for line in lines:
                rows[line["benchmark"], line["activation"]] = _row(line, f"hyperparams: {path}, line {lines.line_num}")
    except FileNotFoundError as error:
        raise ConfigError(f"hyperparams: the table {path} does not exist.") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is no table of values with commas between them"
        raise ConfigError(f"hyperparams: the table {path} cannot be read: {reason}.") from error
    return Published(rows)


def _row(line: Mapping[str, str | None], where: str) -> Values:
    try:
        rate = float(line["lr"] or "")
    except ValueError as error:
        raise ConfigError(f"{where}: lr is {as_typed(line['lr'])}; it must be a number.") from error
    try:
        shape = json.loads(line["hyperparameters"] or "")
    except ValueError:
        shape = None
    if not isinstance(shape, dict):
        given = as_typed(line["hyperparameters"])
        raise ConfigError(f'{where}: hyperparameters is {given}; it must be JSON, as in {{"negative_slope": 0.1}}.')
    return {"optimizer": {"lr": rate}, "activation": shape}
