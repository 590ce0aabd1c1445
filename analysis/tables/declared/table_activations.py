"""Tables A1 and G1: the properties of each activation, as derived by plasticity_lab, next to the marks of the paper.

`table activation_shapes` has the shape of each activation: dead band, derivative floor, kink, side. Section 4 groups
activations by these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

from analysis.derived import DEFAULT, FOLDER, Shape, defaults, definitions, shapes
from analysis.names import ACTIVATIONS, display
from analysis.reported import lines, lines_of
from analysis.rows import Row
from analysis.setting_words import word
from analysis.tables.listing import NOTHING, Listing, fields
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
"""The paper's abbreviations → their meaning in the paper's words, in the paper's order."""
REPORTED = "tableA1_G1_properties.csv"
THERE, ABSENT = "✓", "−"


class Reason(NamedTuple):
    """The reason for a mark.  kind: "numbers", "wording" or "agrees"."""

    kind: str
    words: str


@cache
def reasons() -> Mapping[tuple[str, str], Reason]:
    """(activation, property) → the reason, its numbers filled in."""
    return {
        (line["activation"], line["property"]): Reason(
            line["kind"], line["reason"].format(**vars(defaults()[line["activation"]]))
        )
        for line in lines_of(FOLDER / "reasons.csv")
    }


@dataclass(frozen=True)
class Mark:
    """Whether an activation has a property.

    ours: as derived, at the default settings. printed: the paper's mark with the signs of its notes; "" if the paper
    prints no mark. elsewhere: the paper's best settings that change the derived mark.
    """

    ours: bool
    printed: str
    reason: Reason | None = None
    elsewhere: Sequence[str] = ()

    @property
    def paper(self) -> bool | None:
        """The paper's mark; None if the paper prints no mark."""
        return self.printed.startswith(THERE) if self.printed else None

    @property
    def differs(self) -> bool:
        """Whether the paper's mark differs from ours."""
        return self.paper is not None and self.paper != self.ours


Grid = Mapping[tuple[str, str], Mark]
"""(activation, property) → its mark."""


def build(table: Table[Grid], rows: Sequence[Row], metric_name: str | None) -> list[Grid]:
    """The marks of the table's activations; they do not depend on the rows."""
    printed = {line["activation"]: line for name in table.reported for line in lines(name)}
    grid = {}
    for activation in table.only["activation"]:
        for name in PROPERTIES:
            grid[activation, name] = Mark(
                ours=defaults()[activation].marks[name],
                printed=printed.get(activation, {}).get(name, ""),
                reason=reasons().get((activation, name)),
                elsewhere=_elsewhere(activation, name),
            )
    return [grid]


def render(table: Table[Grid], grid: Grid) -> Listing:
    """One line for each activation: ours/paper in each cell, in bold if they differ. The CSV has one line per cell."""
    body, listed, bold = [], [], set()
    for line, activation in enumerate(table.only["activation"]):
        cells = [display(ACTIVATIONS, activation)]
        for name in PROPERTIES:
            mark = grid[activation, name]
            if mark.differs:
                bold.add((line, len(cells)))
            cells.append(f"{_mark(mark.ours)}/{_mark(mark.paper)}")
            place = {"table": table.name, "activation": activation, "property": name}
            why = {"kind": mark.reason.kind if mark.reason else None, "reason": mark.reason and mark.reason.words}
            otherwise = "; ".join(mark.elsewhere) or None
            listed.append({**place, **fields(mark, "ours", "paper", "printed"), **why, "otherwise_at": otherwise})
        body.append(cells)
    return Listing(table.name, table.title, ["activation", *PROPERTIES], body, listed, bold=frozenset(bold))


def caption(table: Table[Grid], grid: Grid) -> list[str]:
    """The meaning of the marks, the differences from the paper with reasons, and the marks that settings change."""
    differing, agreeing, moving = [], [], []
    for (activation, name), mark in grid.items():
        place, reason = f"{display(ACTIVATIONS, activation)}, {name}", mark.reason
        if mark.differs:
            kind, words = (reason.kind, reason.words) if reason else ("open", "no reason is known")
            marks = f"{_mark(mark.ours)}, paper {_mark(mark.paper)}"
            differing.append(f"Differs ({kind}): {place}: {marks}: {words}.")
        elif reason:
            agreeing.append(f"Agrees as it is worded here: {place}: {reason.words}.")
        if mark.elsewhere:
            words = f"{place}: {_mark(not mark.ours)} at {'; '.join(mark.elsewhere)}"
            moving.append(f"Otherwise at some settings that the paper found best: {words}.")
    return [
        f"{THERE} = present, {ABSENT} = absent: as derived here, at the settings of conf/activation/, / as "
        f"{table.source} prints it; bold where the two differ, {len(differing)} of {len(grid)}.",
        *(f"{name}, {PROPERTIES[name]}: {words}." for name, words in definitions().items()),
        *differing,
        *agreeing,
        *moving,
    ]


def _elsewhere(activation: str, name: str) -> list[str]:
    default = defaults()[activation]
    return [
        ", ".join(f"{key}={word(value)}" for key, value in shape.settings.items() if value != default.settings[key])
        for shape in shapes()
        if shape.activation == activation and shape.marks[name] != default.marks[name]
    ]


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


HEADER = ("activation", "settings", "dead band", "floor", "floor is", "kink at 0", "side", "used in")


def shapes_in_order(
    table: Table[Sequence[Shape]], rows: Sequence[Row], metric_name: str | None
) -> list[Sequence[Shape]]:
    """Every shape, in the order of the figures; an activation's default settings come first."""
    places = {name: place for place, name in enumerate(ACTIVATIONS)}
    return [sorted(shapes(), key=lambda shape: (places.get(shape.activation, len(places)), DEFAULT not in shape.uses))]


def shapes_in_words(table: Table[Sequence[Shape]], content: Sequence[Shape]) -> Listing:
    """One line for each activation and its settings."""
    body, lines = [], []
    for shape in content:
        settings, uses = _settings(shape.settings), "; ".join(shape.uses)
        numbers = [f"{shape.dead_band:.4f}", f"{shape.floor:.4f}"]
        kink = f"{shape.kink:.4f}" if shape.kink else NOTHING
        shown = [display(ACTIVATIONS, shape.activation), settings, *numbers, shape.floor_kind, kink, shape.side, uses]
        body.append(shown)
        line = {"table": table.name, "activation": shape.activation, "settings": settings}
        line |= fields(shape, "dead_band", "floor", "floor_kind", "kink", "side", "lowest_slope", "highest_slope")
        lines.append({**line, "uses": uses})
    return Listing(table.name, table.title, HEADER, body, lines, right=frozenset({2, 3, 5}), long=frozenset({7}))


def about_shapes(table: Table[Sequence[Shape]], content: Sequence[Shape]) -> list[str]:
    """The meaning of the columns, and the activations that the paper groups differently."""
    kinked = {
        f"{display(ACTIVATIONS, shape.activation)} ({_settings(shape.settings)})"
        for shape in content
        if shape.activation in ("elu", "celu", "selu") and shape.kink
    }
    return [
        "As derived from the activations themselves, a randomised slope at its mean and a learned one where it starts.",
        "Dead band: the share of [−100, 100] with |φ′| < 0.001. Floor: the least |φ′| for x < 0, 0 where φ′ changes "
        "its sign. Floor is (Figure 2's groups): non-zero from 0.001 on; otherwise zero if the gradient is exactly 0 "
        "on an interval there, or both sides saturate; otherwise effective non-zero. Kink at 0: by how much φ′ jumps. "
        "Side: Figure 3's groups.",
        "Figure 3 counts ELU, CELU and SELU as smooth; by the paper's own footnote these have a kink: "
        f"{'; '.join(sorted(kinked))}.",
        "Used in: default, the settings of conf/activation/; otherwise the table that found them best.",
    ]


def _settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={word(value)}" for name, value in settings.items()) or NOTHING


TABLE_SHAPES = Table(
    name="activation_shapes",
    title="Activations: dead band, floor, kink, side",
    build=shapes_in_order,
    render=shapes_in_words,
    caption=about_shapes,
    runs="unused",
)
TABLES = (TABLE_A1, TABLE_G1, TABLE_SHAPES)
