"""The properties that `python -m plasticity_lab.taxonomy` derives from activations.  README.md explains each field."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DEFAULT = "default"


@dataclass(frozen=True)
class Shape:
    """An entry of activations.json."""

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


@cache
def definitions() -> Mapping[str, str]:
    """Abbreviation → the sentence that decides the property, in the paper's order."""
    return json.loads((FOLDER / "activations.json").read_bytes())["definitions"]


@cache
def shapes() -> tuple[Shape, ...]:
    """Every activation at its default settings and at the paper's best settings."""
    return tuple(Shape(**entry) for entry in json.loads((FOLDER / "activations.json").read_bytes())["shapes"])


@cache
def defaults() -> Mapping[str, Shape]:
    """Activation → its shape at the default settings."""
    return {shape.activation: shape for shape in shapes() if DEFAULT in shape.uses}
