"""What is published of runs with an intervention: how strong it is best, and the learning rate beside it.

Shapes of activations are published without interventions alone, and serve here too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from launch.runs.groups import COMPONENTS
from launch.runs.options import BenchmarkAlone, Intervention
from launch.runs.values.place import Combination, Values, extras_of
from launch.runs.values.published import Published, Tables, number, published_lines

COLUMNS = ("intervention", "benchmark", "activation", "lr", "strength")
SAID = "published_with_intervention"
"""Under which name a record says what was not published, or is doubtful."""


def intervenes(place: Combination) -> bool:
    """Whether its runs have an intervention."""
    return place.parts["intervention"].name != COMPONENTS["intervention"].neutral


def has_strength(place: Combination) -> bool:
    """Whether they have one that can be stronger or weaker."""
    return intervenes(place) and "strength" in place.nodes["intervention"]


def strengths(place: Combination) -> Sequence[float]:
    """Those that its intervention's file lists, if it does."""
    return extras_of(place.parts["intervention"], Intervention).strengths or ()


class WithIntervention:
    """The published rates and strengths of the places of one command, and what there is to say about them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._read: dict[str, Mapping[str, Published]] = {}
        self._missing: dict[tuple[str, str], list[str]] = {}
        self._doubtful: dict[str, None] = {}

    def row(self, table: str, place: Combination) -> Values | None:
        """That of an activation on a benchmark, or on its stand-in, with the place's intervention; None if none is."""
        if table not in self._read:
            self._read[table] = read_with_interventions(self._tables.path(table))
        published = self._read[table].get(place.parts["intervention"].name, Published({}))
        source = published.benchmark_for(place.benchmark.name, extras_of(place.benchmark, BenchmarkAlone).stand_in)
        return published.rows.get((source or "", place.activation.name))

    def best(self, table: str, place: Combination) -> tuple[Values, Mapping[str, Any]]:
        """The published rate and strength, and what a record is to say of them.

        Without a row no rate, and of an intervention that the table has the middle one of its strengths; another keeps
        its default.
        """
        row, tried, name = self.row(table, place), strengths(place), place.parts["intervention"].name
        if row is None:
            is_in_table = place.parts["intervention"].name in self._read[table]
            middle = {"strength": tried[len(tried) // 2]} if tried and is_in_table else {}
            strength = {**place.nodes["intervention"], **({} if _is_typed(place) else middle)}["strength"]
            how = f"with {name}, whose strength is {strength:g}"
            self._missing.setdefault((how, place.benchmark.name), []).append(place.activation.name)
            return {"intervention": middle}, {SAID: f"nothing, so the learning rate without it, strength {strength:g}"}
        strength = row["intervention"]["strength"]
        if _is_typed(place) or not tried or strength in tried:
            return row, {}
        doubt = f"strength {strength:g} as printed, which is none of {', '.join(f'{each:g}' for each in tried)}"
        self._doubtful[f"{place.activation.name} on {place.benchmark.name} has with {name} the {doubt}"] = None
        return row, {SAID: doubt}

    def notes(self) -> list[str]:
        """What is not published, and what is doubtful, in one line each."""
        places: dict[str, list[str]] = {}
        for (how, benchmark), names in self._missing.items():
            places.setdefault(how, []).append(f"{', '.join(dict.fromkeys(names))} on {benchmark}")
        lines = [
            f"hyperparams: nothing is published for {'; '.join(where)} {how}; the learning rate is that without it."
            for how, where in places.items()
        ]
        return [*lines, *(f"hyperparams: {words}." for words in self._doubtful)]


def _is_typed(place: Combination) -> bool:
    return "intervention.strength" in place.pinned


def read_with_interventions(path: Path) -> dict[str, Published]:
    """Intervention → the rows of a CSV file that has the columns `COLUMNS`.

    Raises ConfigError if there is no such file, or if a line of it cannot be read.
    """
    found: dict[str, dict[tuple[str, str], Values]] = {}
    for line, at in published_lines(path, COLUMNS):
        values = {
            "optimizer": {"lr": number(line, "lr", at)},
            "intervention": {"strength": number(line, "strength", at)},
        }
        found.setdefault(line["intervention"], {})[line["benchmark"], line["activation"]] = values
    return {name: Published(rows) for name, rows in found.items()}
