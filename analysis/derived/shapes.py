"""The derived properties of activations: the files beside this one, which README.md describes."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DEFAULT = "default"
"""The use of the settings that conf/activation/ has."""


@dataclass(frozen=True)
class Shape:
    """An activation at some settings: the entries of activations.json.

    uses: "default", or the table of the paper, and its benchmark, that found them best. marks: abbreviation of a
    property → whether it is there. dead_band: the share of [−100, 100] with |φ′| < 0.001; dead_intervals: where. floor:
    the least |φ′| for x < 0; floor_kind: Figure 2's group. kink: by how much φ′ jumps at 0; kinks: [x, jump]. side:
    Figure 3's group.
    """

    uses: Sequence[str]
    activation: str
    settings: Mapping[str, Any]
    marks: Mapping[str, bool]
    dead_band: float
    dead_intervals: Sequence[Sequence[float]]
    floor: float
    floor_kind: str
    kink: float
    kinks: Sequence[Sequence[float]]
    side: str
    lowest_slope: float
    highest_slope: float


@dataclass(frozen=True)
class Reason:
    """Why a mark is as it is.  kind: "numbers", "wording" or "agrees"."""

    kind: str
    words: str


@cache
def definitions() -> Mapping[str, str]:
    """Abbreviation → the sentence that decides the property, in the paper's order."""
    return _file("activations.json")["definitions"]


@cache
def shapes() -> tuple[Shape, ...]:
    """Every activation at its default settings and at those that the paper found best."""
    return tuple(Shape(**each) for each in _file("activations.json")["shapes"])


@cache
def defaults() -> Mapping[str, Shape]:
    """Activation → its shape at the default settings."""
    return {shape.activation: shape for shape in shapes() if DEFAULT in shape.uses}


@cache
def reasons() -> Mapping[tuple[str, str], Reason]:
    """(activation, property) → the reason, its numbers filled in."""
    return {
        (line["activation"], line["property"]): Reason(
            line["kind"], line["reason"].format(**vars(defaults()[line["activation"]]))
        )
        for line in csv.DictReader((FOLDER / "reasons.csv").read_text(encoding="utf-8").splitlines())
    }


def _file(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))
