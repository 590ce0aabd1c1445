"""The shape of each activation: dead band, derivative floor, kink, side.  Section 4 groups activations by these."""

from collections.abc import Mapping, Sequence

from analysis.derived.derived import DEFAULT, Shape, shapes
from analysis.names import ACTIVATIONS, display
from analysis.rows import Row
from analysis.setting_words import word
from analysis.tables.listing import NOTHING, Listing, fields
from analysis.tables.table import Table

HEADER = ("activation", "settings", "dead band", "floor", "floor is", "kink at 0", "side", "used in")


def build(table: Table[Sequence[Shape]], rows: Sequence[Row], metric_name: str | None) -> list[Sequence[Shape]]:
    """Every shape, in the order of the figures; an activation's default settings come first."""
    places = {name: place for place, name in enumerate(ACTIVATIONS)}
    return [sorted(shapes(), key=lambda shape: (places.get(shape.activation, len(places)), DEFAULT not in shape.uses))]


def render(table: Table[Sequence[Shape]], content: Sequence[Shape]) -> Listing:
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


def caption(table: Table[Sequence[Shape]], content: Sequence[Shape]) -> list[str]:
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
    build=build,
    render=render,
    caption=caption,
    runs="unused",
)

TABLES = (TABLE_SHAPES,)
