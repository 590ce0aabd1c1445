"""Curves of activations, as `python -m plasticity_lab.taxonomy` writes them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plasticity_lab.errors import ConfigError

CURVES = Path(__file__).with_name("curves.json")
WRITING = "python -m plasticity_lab.taxonomy curves activation=swish"


@dataclass(frozen=True)
class ActivationCurve:
    """One activation at some settings: an entry of the file.

    x (N,); value, slope: φ and φ′ of each output, (O, N). value_ends, slope_ends: of a randomised one, where the least
    and the greatest draw lead, (2, O, N). label: what a figure of the paper calls it.
    """

    activation: str
    settings: Mapping[str, Any]
    x: Sequence[float]
    value: Sequence[Sequence[float]]
    slope: Sequence[Sequence[float]]
    value_ends: Sequence[Sequence[Sequence[float]]] | None = None
    slope_ends: Sequence[Sequence[Sequence[float]]] | None = None
    label: str | None = None


def of_figure(name: str) -> list[ActivationCurve]:
    """The curves of a figure of the paper."""
    return [ActivationCurve(**each) for each in json.loads(CURVES.read_text(encoding="utf-8"))["figures"][name]]


def of_defaults() -> list[ActivationCurve]:
    """Every activation at its default settings."""
    return [ActivationCurve(**each) for each in json.loads(CURVES.read_text(encoding="utf-8"))["defaults"]]


def of_text(text: str, source: str) -> list[ActivationCurve]:
    """Those of the text that a command wrote.  source: what it came from.  Raises ConfigError if it is another text."""
    try:
        found = [ActivationCurve(**each) for each in json.loads(text)["curves"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{source} holds no curves; `{WRITING}` writes some.") from error
    if not found:
        raise ConfigError(f"{source} holds no curves; `{WRITING}` writes some.")
    return found
