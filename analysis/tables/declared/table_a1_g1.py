"""Tables A1 and G1: which properties an activation has, as a grid of marks."""

from collections.abc import Mapping, Sequence
from functools import partial

from analysis.names import ACTIVATIONS, display
from analysis.rows import Row
from analysis.tables.listing import Listing
from analysis.tables.missing import NOT_HERE
from analysis.tables.table import Table

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


def build(table: Table[Marks], rows: Sequence[Row], metric_name: str | None) -> list[Marks]:
    """No marks: nothing in this version measures the properties."""
    return [{}]


def render(table: Table[Marks], marks: Marks) -> Listing:
    """One line for each activation: ✓ for what it has, − for what it has not, empty where it is not known."""
    body = [
        [display(ACTIVATIONS, name), *(_mark(marks.get(name, {}).get(each)) for each in PROPERTIES)]
        for name in table.only["activation"]
    ]
    lines = [
        {"table": table.name, "activation": name, **{each: marks.get(name, {}).get(each) for each in PROPERTIES}}
        for name in table.only["activation"]
    ]
    header = ["activation", *PROPERTIES]
    return Listing(table.name, table.title, header, body, lines, is_ours=bool(marks))


def caption(table: Table[Marks], marks: Marks) -> list[str]:
    """What the marks and abbreviations mean, and of how many activations they are not known."""
    said = [f"✓ = present, − = absent. {'; '.join(f'{name}: {words}' for name, words in PROPERTIES.items())}."]
    unknown = [name for name in table.only["activation"] if len(marks.get(name, {})) < len(PROPERTIES)]
    return said + ([f"Properties of {len(unknown)} activations: {NOT_HERE}."] if unknown else [])


def _mark(has: bool | None) -> str:
    return "" if has is None else "✓" if has else "−"


properties = partial(Table, build=build, render=render, caption=caption, runs="unused")
TABLE_A1 = properties(
    name="tableA1",
    title="Table A1: properties of activations",
    only={
        "activation": (
            "relu", "leaky_relu", "prelu", "rrelu", "sigmoid", "tanh", "swish", "gelu", "elu", "celu", "selu", "crelu",
            "rational", "swiglu", "deep_fourier", "smooth_leaky", "rand_smooth_leaky",
        ),
    },
)  # fmt: skip
TABLE_G1 = properties(
    name="tableG1",
    title="Table G1: properties of activations",
    only={"activation": ("rselu", "bo_prelu")},
)

TABLES = (TABLE_A1, TABLE_G1)
