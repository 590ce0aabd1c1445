"""Tables A1 and G1: which properties an activation has, as the laboratory derives them, beside the paper's marks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from analysis.derived import Reason, defaults, definitions, reasons, shapes
from analysis.names import ACTIVATIONS, display
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.setting_words import word
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.table import Table

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
"""The paper's abbreviations and what it says that they mean, in its order."""
REPORTED = "tableA1_G1_properties.csv"
THERE, ABSENT = "✓", "−"


@dataclass(frozen=True)
class Mark:
    """Whether an activation has a property.

    ours: as derived, at the default settings. printed: the paper's mark with the signs of its notes, "" where it prints
    none. elsewhere: the settings that the paper found best and at which the derived mark is another.
    """

    ours: bool
    printed: str
    reason: Reason | None = None
    elsewhere: Sequence[str] = ()

    @property
    def paper(self) -> bool | None:
        """The paper's mark; None where it prints none."""
        return self.printed.startswith(THERE) if self.printed else None

    @property
    def differs(self) -> bool:
        """Whether the paper marks it otherwise."""
        return self.paper is not None and self.paper != self.ours


Grid = Mapping[tuple[str, str], Mark]
"""(activation, property) → its mark."""


def build(table: Table[Grid], rows: Sequence[Row], metric_name: str | None) -> list[Grid]:
    """The marks of the table's activations, whatever runs there are."""
    printed = {line["activation"]: line for name in table.reported for line in lines(name)}
    return [
        {
            (activation, name): Mark(
                ours=defaults()[activation].marks[name],
                printed=printed.get(activation, {}).get(name, ""),
                reason=reasons().get((activation, name)),
                elsewhere=_elsewhere(activation, name),
            )
            for activation in table.only["activation"]
            for name in PROPERTIES
        }
    ]


def render(table: Table[Grid], grid: Grid) -> Listing:
    """A line an activation, ours/paper in each field, bold where they differ; in the CSV a line for each field."""
    activations = table.only["activation"]
    body = [
        [display(ACTIVATIONS, activation), *(_field(grid[activation, name]) for name in PROPERTIES)]
        for activation in activations
    ]
    bold = {
        (line, 1 + place)
        for line, activation in enumerate(activations)
        for place, name in enumerate(PROPERTIES)
        if grid[activation, name].differs
    }
    return Listing(
        table.name, table.title, ["activation", *PROPERTIES], body, _lines(table, grid), bold=frozenset(bold)
    )


def caption(table: Table[Grid], grid: Grid) -> list[str]:
    """What the marks mean, where they differ from the paper's and why, and where they hang on settings or words."""
    differing = {place: mark for place, mark in grid.items() if mark.differs}
    said = [
        f"{THERE} = present, {ABSENT} = absent: as derived here, at the settings of conf/activation/, / as "
        f"{table.source} prints it; bold where the two differ, {len(differing)} of {len(grid)}.",
        *(f"{name}, {PROPERTIES[name]}: {words}." for name, words in definitions().items()),
    ]
    said += [
        f"Differs ({mark.reason.kind if mark.reason else 'open'}): {_of(*place)}: {_mark(mark.ours)}, paper "
        f"{_mark(mark.paper)}: {mark.reason.words if mark.reason else 'no reason is known'}."
        for place, mark in differing.items()
    ]
    said += [
        f"Agrees as it is worded here: {_of(*place)}: {mark.reason.words}."
        for place, mark in grid.items()
        if mark.reason and not mark.differs
    ]
    moving = [
        f"{_of(*place)}: {_mark(not mark.ours)} at {'; '.join(mark.elsewhere)}"
        for place, mark in grid.items()
        if mark.elsewhere
    ]
    return said + [f"Otherwise at some settings that the paper found best: {each}." for each in moving]


def _lines(table: Table[Grid], grid: Grid) -> list[dict[str, object]]:
    return [
        {
            "table": table.name,
            "activation": activation,
            "property": name,
            "ours": mark.ours,
            "paper": mark.paper,
            "printed": mark.printed,
            "kind": mark.reason.kind if mark.reason else None,
            "reason": mark.reason.words if mark.reason else None,
            "otherwise_at": "; ".join(mark.elsewhere) or None,
        }
        for (activation, name), mark in grid.items()
    ]


def _elsewhere(activation: str, name: str) -> list[str]:
    default = defaults()[activation]
    return [
        ", ".join(f"{key}={word(value)}" for key, value in shape.settings.items() if value != default.settings[key])
        for shape in shapes()
        if shape.activation == activation and shape.marks[name] != default.marks[name]
    ]


def _of(activation: str, name: str) -> str:
    return f"{display(ACTIVATIONS, activation)}, {name}"


def _field(mark: Mark) -> str:
    return f"{_mark(mark.ours)}/{_mark(mark.paper)}"


def _mark(has: bool | None) -> str:
    return NOTHING if has is None else THERE if has else ABSENT


properties = partial(Table, build=build, render=render, caption=caption, runs="unused", reported=(REPORTED,))
TABLE_A1 = properties(
    name="tableA1",
    title="Table A1: properties of activations",
    source="Table A1",
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
    source="Table G1",
    only={"activation": ("rselu", "bo_prelu")},
)

TABLES = (TABLE_A1, TABLE_G1)
