"""The data that `python -m plasticity_lab.taxonomy` derives from activations.  README.md explains each field."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from plasticity_lab.errors import ConfigError

FOLDER = Path(__file__).parent
DEFAULT = "default"
WRITING = "python -m plasticity_lab.taxonomy curves activation=swish"
Numbers = Sequence[Sequence[float]]


@dataclass(frozen=True)
class ActivationCurve:
    """An entry of curves.json with N points and O outputs.

    x: (N,). value, slope: (O, N). value_ends, slope_ends: (2, O, N).
    """

    activation: str
    settings: Mapping[str, Any]
    x: Sequence[float]
    value: Numbers
    slope: Numbers
    value_ends: Sequence[Numbers] | None = None
    slope_ends: Sequence[Numbers] | None = None
    label: str | None = None


@dataclass(frozen=True)
class Shape:
    """An entry of activations.json."""

    uses: Sequence[str]
    activation: str
    settings: Mapping[str, Any]
    marks: Mapping[str, bool]
    dead_band: float
    dead_intervals: Numbers
    floor: float
    floor_kind: str
    kink: float
    kinks: Numbers
    side: str
    lowest_slope: float
    highest_slope: float


@dataclass(frozen=True)
class Reason:
    """The reason for a mark.  kind: "numbers", "wording" or "agrees"."""

    kind: str
    words: str


@cache
def _file(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def of_figure(name: str) -> list[ActivationCurve]:
    """The curves of a figure of the paper."""
    return [ActivationCurve(**entry) for entry in _file("curves.json")["figures"][name]]


def of_defaults() -> list[ActivationCurve]:
    """The curve of every activation at its default settings."""
    return [ActivationCurve(**entry) for entry in _file("curves.json")["defaults"]]


def of_text(text: str, source: str) -> list[ActivationCurve]:
    """The curves in the output of a command.  source: its name.  Raises ConfigError if the text holds no curves."""
    try:
        (first, *others) = (ActivationCurve(**entry) for entry in json.loads(text)["curves"])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{source} holds no curves; `{WRITING}` writes some.") from error
    return [first, *others]


def definitions() -> Mapping[str, str]:
    """Abbreviation → the sentence that decides the property, in the paper's order."""
    return _file("activations.json")["definitions"]


@cache
def shapes() -> tuple[Shape, ...]:
    """Every activation at its default settings and at the paper's best settings."""
    return tuple(Shape(**entry) for entry in _file("activations.json")["shapes"])


@cache
def defaults() -> Mapping[str, Shape]:
    """Activation → its shape at the default settings."""
    return {shape.activation: shape for shape in shapes() if DEFAULT in shape.uses}


@cache
def reasons() -> Mapping[tuple[str, str], Reason]:
    """(activation, property) → the reason, its numbers filled in."""
    found = {}
    for line in csv.DictReader((FOLDER / "reasons.csv").read_text(encoding="utf-8").splitlines()):
        words = line["reason"].format(**vars(defaults()[line["activation"]]))
        found[line["activation"], line["property"]] = Reason(line["kind"], words)
    return found
