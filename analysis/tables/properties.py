"""Tables A1 and G1: which properties an activation has, as a grid of marks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.names import ACTIVATIONS, display
from analysis.rows import Row
from analysis.tables.listing import Listing
from analysis.tables.missing import NOT_HERE

Marks = Mapping[str, Mapping[str, bool]]
"""Activation → property → whether it has it."""
PROPERTIES = {
    "HDZ": "hard dead zone",
    "NZG": "non-zero gradient for x < 0",
    "Sat±": "two-sided saturation",
    "Sat−": "negative-side saturation",
    "C1": "first derivative continuous",
    "NonM": "non-monotonic segment",
    "SelfN": "self-normalizing output",
    "L/R slope": "learnable or randomized slope",
    "f''": "non-zero second derivative",
}
"""The paper's abbreviations, in its order."""


@dataclass(frozen=True)
class PropertyTable:
    """The declaration: its name and title, and the activations that are its rows."""

    name: str
    title: str
    activations: Sequence[str]


def property_table(table: PropertyTable, rows: Sequence[Row], metric_name: str | None = None) -> list[Listing]:
    """The table without marks: nothing in this version measures the properties."""
    return [property_listing(table, {})]


def property_listing(table: PropertyTable, marks: Marks) -> Listing:
    """One line for each activation: ✓ for what it has, − for what it has not, empty where it is not known."""
    body = [
        [display(ACTIVATIONS, name), *(_mark(marks.get(name, {}).get(each)) for each in PROPERTIES)]
        for name in table.activations
    ]
    caption = [f"✓ = present, − = absent. {'; '.join(f'{name}: {words}' for name, words in PROPERTIES.items())}."]
    unknown = [name for name in table.activations if len(marks.get(name, {})) < len(PROPERTIES)]
    caption += [f"Properties of {len(unknown)} activations: {NOT_HERE}."] if unknown else []
    lines = [
        {"table": table.name, "activation": name, **{each: marks.get(name, {}).get(each) for each in PROPERTIES}}
        for name in table.activations
    ]
    header = ["activation", *PROPERTIES]
    return Listing(table.name, table.title, header, body, caption, lines, is_ours=bool(marks))


def _mark(has: bool | None) -> str:
    return "" if has is None else "✓" if has else "−"
