"""Figures of activations themselves, φ and φ′: Figures 5, G1, G2, and one of any activations. They need no runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.conf import option
from analysis.derived import FOLDER
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.names import ACTIVATIONS, display
from analysis.setting_words import word
from plasticity_lab.errors import ConfigError

ACTIVATIONS_FIGURE = "activations"
WRITING = "python -m plasticity_lab.taxonomy curves activation=swish"
BAND = "Shaded: between the least and the greatest value that is drawn in training; the line is the evaluation's."
SHAPES: Mapping[str, tuple[str, str]] = {
    ACTIVATIONS_FIGURE: ("Activations", "At the settings of conf/activation/."),
    "figure5": (
        "Figure 5: Smooth-Leaky and Randomized Smooth-Leaky",
        "Smooth-Leaky with α = 0.1, p = 3, c = 5, as the paper says. It names no bounds of Randomized Smooth-Leaky: "
        "here they come from conf/activation/.",
    ),
    "figureG1": (
        "Figure G1: Bo-PReLU",
        "α between 0.6 and 0.8, starting at 0.65, as the paper says.",
    ),
    "figureG2": ("Figure G2: R-SeLU", "r ~ U(0.9232, 2.4232), as the paper says."),
}
"""The figures that need no runs → title, and the settings of the stored curves."""
GATED = "swiglu", "hadamard"
Numbers = Sequence[Sequence[float]]


@dataclass(frozen=True)
class ActivationCurve:
    """An activation's curve, as an entry of curves.json, with N points and O outputs.

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


def stored(name: str) -> list[ActivationCurve]:
    """The stored curves of one of SHAPES; ACTIVATIONS_FIGURE has every activation at its default settings."""
    content = json.loads((FOLDER / "curves.json").read_bytes())
    return [ActivationCurve(**entry) for entry in content["figures"].get(name, content["defaults"])]


def of_text(text: str, source: str) -> list[ActivationCurve]:
    """The curves in the output of a command.  source: its name.  Raises ConfigError if the text holds no curves."""
    try:
        (first, *others) = (ActivationCurve(**entry) for entry in json.loads(text)["curves"])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{source} holds no curves; `{WRITING}` writes some.") from error
    return [first, *others]


def figure(name: str, curves: Sequence[ActivationCurve] | None = None) -> Drawing:
    """One of SHAPES.  curves: for ACTIVATIONS_FIGURE; None: the stored curves."""
    title, source = SHAPES[name]
    said = [] if curves else [source]
    curves = curves or stored(name)
    values: list[Series] = []
    slopes: list[Series] = []
    for curve in curves:
        values += _series(curve, curve.value, curve.value_ends)
        slopes += _series(curve, curve.slope, curve.slope_ends)
    panels = [
        Panel("activation", "x", "φ(x)", values, band=True),
        Panel("derivative", "x", "φ′(x)", slopes, band=True),
    ]
    if any(curve.value_ends and curve.value_ends[0] != curve.value_ends[1] for curve in curves):
        said.append(BAND)
    if any(curve.activation in GATED for curve in curves):
        said.append("SwiGLU (its gate) and Hadamard: along one half of the input, with the other at 1.")
    return Drawing(name, title, panels, said)


def _series(curve: ActivationCurve, outputs: Numbers, ends: Sequence[Numbers] | None) -> list[Series]:
    """A line for each output of a curve.  ends: the bounds of each output, if they are drawn."""
    label = curve.label or _label(curve.activation, curve.settings)
    lines = []
    for place, y in enumerate(outputs):
        name = label if len(outputs) == 1 else f"{label}, output {place + 1}"
        bounds = zip(*(end[place] for end in ends), strict=True) if ends is not None else ()
        spread = [(min(pair), max(pair)) for pair in bounds]
        lines.append(Series(name, curve.activation, curve.x, y, n=[0] * len(y), y_range=spread))
    return lines


def _label(activation: str, settings: Mapping[str, object]) -> str:
    """The name with the settings that differ from their values in conf/activation/."""
    in_file = option("activation", activation)
    other = ", ".join(f"{name}={word(value)}" for name, value in settings.items() if value != in_file.get(name))
    return f"{display(ACTIVATIONS, activation)} ({other})" if other else display(ACTIVATIONS, activation)
