"""The best values that papers report: tables of conf/published, looked up by benchmark and activation.

Tables of runs with an intervention hold its strength and the learning rate. Shapes of activations are published without
interventions alone, and are used in runs with one too.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from launch.runs.files import CONF
from launch.runs.groups import COMPONENTS, BenchmarkAlone, Intervention
from launch.runs.values.place import Combination, FoundValues, Values, extras_of, unpinned
from plasticity_lab.component import as_typed
from plasticity_lab.errors import ConfigError

FOLDER = CONF / "published"
COLUMNS = ("benchmark", "activation", "lr", "hyperparameters")
COLUMNS_WITH_INTERVENTION = ("intervention", "benchmark", "activation", "lr", "strength")
SAID = "published_with_intervention"
"""The key of a record's remark that a value was not published, or is doubtful."""

Rows = Mapping[tuple[str, str], Values]
"""(benchmark, activation) → published values."""


def intervenes(place: Combination) -> bool:
    """Whether its runs have an intervention."""
    return place.parts["intervention"].name != COMPONENTS["intervention"].neutral


def has_strength(place: Combination) -> bool:
    """Whether its runs have an intervention that has a strength."""
    return intervenes(place) and "strength" in place.nodes["intervention"]


def strengths(place: Combination) -> Sequence[float]:
    """The strengths that its intervention's file lists, if any."""
    return extras_of(place.parts["intervention"], Intervention).strengths or ()


class PublishedValues:
    """Published values for the places of one command, and notes on values found elsewhere or not at all."""

    def __init__(self) -> None:
        self._rows: dict[str, Rows] = {}
        self._rows_with_intervention: dict[str, Mapping[str, Rows]] = {}
        self._stand_ins: dict[str, str] = {}
        self._missing: dict[str, dict[str, None]] = {}
        self._missing_with: dict[str, dict[str, dict[str, None]]] = {}
        self._doubtful: dict[str, None] = {}
        self._other_optimizers: dict[str, str] = {}

    def rows_of(self, names: str | Sequence[str]) -> Rows:
        """The rows of one table, or of several; an absolute path names a file outside the folder.

        Raises ConfigError if a table cannot be read, or if two have a row for the same place.
        """
        rows: dict[tuple[str, str], Values] = {}
        for name in [names] if isinstance(names, str) else names:
            if name not in self._rows:
                self._rows[name] = read_published(FOLDER / name)
            if twice := rows.keys() & self._rows[name].keys():
                benchmark, activation = min(twice)
                where = f"in {name} and in a table before it"
                raise ConfigError(f"hyperparams: {activation} on {benchmark} is {where}; only one table may have it.")
            rows |= self._rows[name]
        return rows

    def row(self, names: str | Sequence[str], place: Combination) -> Values | None:
        """The row of an activation on a benchmark, or on its `stand_in`, in some tables; None if no table has it."""
        rows, benchmark = self.rows_of(names), place.benchmark.name
        source = _benchmark_in(rows, place)
        if source is not None and source != benchmark:
            self._stand_ins[benchmark] = source
        row = rows.get((source or "", place.activation.name))
        if row is None:
            self._missing.setdefault(benchmark, {})[place.activation.name] = None
        return row

    def row_with_intervention(self, table: str, place: Combination) -> Values | None:
        """The row of an activation on a benchmark, or on its `stand_in`, with its intervention; None if missing."""
        if table not in self._rows_with_intervention:
            self._rows_with_intervention[table] = read_with_interventions(FOLDER / table)
        rows = self._rows_with_intervention[table].get(place.parts["intervention"].name, {})
        return rows.get((_benchmark_in(rows, place) or "", place.activation.name))

    def found(self, place: Combination) -> Iterator[FoundValues]:
        """hyperparams=best: the published values of an activation on a benchmark, and of the intervention, if any."""
        row = self.row(place.rule.look_up or (), place)
        asked: dict[str, Any] = {} if row is not None else {"published": "nothing, so defaults"}
        values = row or {}
        if place.rule.with_intervention is not None and has_strength(place):
            of_intervention, said = self._best_with_intervention(place.rule.with_intervention, place)
            values, asked = {**values, **of_intervention}, {**asked, **said}
        values = unpinned(values, place)
        if "optimizer" in values and not self.rates_are_for(place):
            del values["optimizer"]
        yield FoundValues(values, asked)

    def _best_with_intervention(self, table: str, place: Combination) -> tuple[Values, Mapping[str, Any]]:
        """The published rate and strength, and a remark for the record.

        Without a row there is no rate. An intervention that the table has gets the middle one of its strengths; another
        keeps its default.
        """
        row, listed, name = self.row_with_intervention(table, place), strengths(place), place.parts["intervention"].name
        is_typed = "intervention.strength" in place.pinned
        if row is None:
            is_in_table = name in self._rows_with_intervention[table]
            middle = {"strength": listed[len(listed) // 2]} if listed and is_in_table else {}
            strength = {**place.nodes["intervention"], **({} if is_typed else middle)}["strength"]
            places = self._missing_with.setdefault(f"with {name} at the strength {strength:g}", {})
            places.setdefault(place.benchmark.name, {})[place.activation.name] = None
            return {"intervention": middle}, {SAID: f"nothing, so the learning rate without it, strength {strength:g}"}
        strength = row["intervention"]["strength"]
        if is_typed or not listed or strength in listed:
            return row, {}
        doubt = f"strength {strength:g} as printed, which is none of {', '.join(f'{each:g}' for each in listed)}"
        self._doubtful[f"{place.activation.name} on {place.benchmark.name} has with {name} the {doubt}"] = None
        return row, {SAID: doubt}

    def rates_are_for(self, place: Combination) -> bool:
        """Whether learning rates are used at a place: none is typed, and its optimizer is among the rule's (None: any).

        Other optimizers are remembered for `notes`.
        """
        if "optimizer.lr" in place.pinned:
            return False
        optimizer, optimizers = place.parts["optimizer"].name, place.rule.optimizers
        if optimizers is None or optimizer in optimizers:
            return True
        self._other_optimizers[optimizer] = " and ".join(optimizers)
        return False

    def notes(self) -> list[str]:
        """Used `stand_in`s, misses, doubtful strengths, and optimizers without published rates, in one line each."""
        lines = []
        if self._stand_ins:
            pairs = ", ".join(f"{source} for {name}" for name, source in self._stand_ins.items())
            lines.append(f"hyperparams: published values of another benchmark are used: {pairs}.")
        if self._missing:
            lines.append(f"hyperparams: nothing is published for {_listed(self._missing)}; their defaults are used.")
        for how, places in self._missing_with.items():
            rate = "the learning rate without it is used"
            lines.append(f"hyperparams: nothing is published for {_listed(places)} {how}; {rate}.")
        lines += [f"hyperparams: {words}." for words in self._doubtful]
        for optimizer, optimizers in self._other_optimizers.items():
            other = f"{optimizer} keeps its default, or the value of optimizer.lr"
            lines.append(f"hyperparams: the published learning rates are for {optimizers}; {other}.")
        return lines


def _benchmark_in(rows: Rows, place: Combination) -> str | None:
    """The benchmark that gives a place its values: its own benchmark or its `stand_in`; None if neither has any."""
    known = {benchmark for benchmark, _ in rows}
    stand_in = extras_of(place.benchmark, BenchmarkAlone).stand_in
    return next((name for name in (place.benchmark.name, stand_in) if name in known), None)


def _listed(places: Mapping[str, Mapping[str, None]]) -> str:
    """Benchmark → activations, in words."""
    return "; ".join(f"{', '.join(names)} on {benchmark}" for benchmark, names in places.items())


def read_published(path: Path) -> Rows:
    """The rows of a CSV file with the columns `COLUMNS`; hyperparameters is JSON.

    Raises ConfigError if there is no such file, or if a line of it cannot be read.
    """
    return {
        (line["benchmark"], line["activation"]): {
            "optimizer": {"lr": _number(line, "lr", where)},
            "activation": _shape(line, where),
        }
        for line, where in _lines(path, COLUMNS)
    }


def read_with_interventions(path: Path) -> dict[str, Rows]:
    """Intervention → the rows of a CSV file with the columns `COLUMNS_WITH_INTERVENTION`.  Raises as above."""
    tables: dict[str, dict[tuple[str, str], Values]] = {}
    for line, where in _lines(path, COLUMNS_WITH_INTERVENTION):
        tables.setdefault(line["intervention"], {})[line["benchmark"], line["activation"]] = {
            "optimizer": {"lr": _number(line, "lr", where)},
            "intervention": {"strength": _number(line, "strength", where)},
        }
    return dict(tables)


def _lines(path: Path, columns: Sequence[str]) -> Iterator[tuple[dict[str, str], str]]:
    """The lines of a published table, each with the words that name it in an error.

    Raises ConfigError if the file does not exist, if it cannot be read, or if it lacks one of these columns.
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


def _number(line: Mapping[str, str | None], name: str, where: str) -> float:
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
        value = as_typed(line["hyperparameters"])
        raise ConfigError(f'{where}: hyperparameters is {value}; it must be JSON, as in {{"negative_slope": 0.1}}.')
    return shape
