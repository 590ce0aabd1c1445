"""Figures of activations themselves, φ beside φ′: Figures 5, G1, G2, and one of any activations. They need no runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.conf import option
from analysis.derived.derived import ActivationCurve, of_defaults, of_figure
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.names import ACTIVATIONS, display
from analysis.setting_words import word

ACTIVATIONS_FIGURE = "activations"
BAND = "Shaded: between the least and the greatest value that is drawn in training; the line is the evaluation's."
PAPER: Mapping[str, tuple[str, str]] = {
    "figure5": (
        "Figure 5: Smooth-Leaky and Randomized Smooth-Leaky",
        "Smooth-Leaky with α = 0.1, p = 3, c = 5, as the paper says. It names no bounds of Randomized Smooth-Leaky: "
        "here they are those of conf/activation/.",
    ),
    "figureG1": (
        "Figure G1: Bo-PReLU",
        "α between 0.6 and 0.8, starting at 0.65, as the paper says.",
    ),
    "figureG2": ("Figure G2: R-SeLU", "r ~ U(0.9232, 2.4232), as the paper says."),
}
"""Figure → its title, and what its settings are."""


def figure(name: str, curves: Sequence[ActivationCurve] | None) -> Drawing:
    """One of SHAPES.  curves: those that ACTIVATIONS_FIGURE shows; None: every activation at its default settings."""
    if name == ACTIVATIONS_FIGURE:
        shown = curves or of_defaults()
        return _drawing(name, "Activations", shown, ["At the settings of conf/activation/."] * (not curves))
    title, said = PAPER[name]
    return _drawing(name, title, of_figure(name), [said])


SHAPES: tuple[str, ...] = (ACTIVATIONS_FIGURE, *PAPER)
"""The figures that need no runs."""


def _drawing(name: str, title: str, curves: Sequence[ActivationCurve], said: Sequence[str]) -> Drawing:
    labels = _labels(curves)
    panels = [
        Panel(
            "activation", "x", "φ(x)", _series(curves, labels, lambda curve: (curve.value, curve.value_ends)), band=True
        ),
        Panel(
            "derivative",
            "x",
            "φ′(x)",
            _series(curves, labels, lambda curve: (curve.slope, curve.slope_ends)),
            band=True,
        ),
    ]
    drawn = any(curve.value_ends and curve.value_ends[0] != curve.value_ends[1] for curve in curves)
    gated = any(curve.activation == "swiglu" for curve in curves)
    return Drawing(
        name,
        title,
        panels,
        [*said, *[BAND] * drawn, *["SwiGLU: of its gate, with the other half of the input at 1."] * gated],
    )


Numbers = Sequence[Sequence[float]]


def _series(
    curves: Sequence[ActivationCurve],
    labels: Sequence[str],
    what: Callable[[ActivationCurve], tuple[Numbers, Sequence[Numbers] | None]],
) -> list[Series]:
    """A line for each output of each curve."""
    found = []
    for curve, label in zip(curves, labels, strict=True):
        outputs, ends = what(curve)
        for place, y in enumerate(outputs):
            of_output = label if len(outputs) == 1 else f"{label}, output {place + 1}"
            spread = (
                []
                if ends is None
                else [(min(each), max(each)) for each in zip(*(end[place] for end in ends), strict=True)]
            )
            found.append(Series(of_output, curve.activation, curve.x, y, n=[0] * len(y), y_range=spread))
    return found


def _labels(curves: Sequence[ActivationCurve]) -> list[str]:
    """What a figure of the paper says, else the name with the settings that are not those of conf/activation/."""
    return [curve.label or _label(curve.activation, curve.settings) for curve in curves]


def _label(activation: str, settings: Mapping[str, Any]) -> str:
    own = option("activation", activation)
    other = ", ".join(f"{name}={word(value)}" for name, value in settings.items() if value != own.get(name))
    return f"{display(ACTIVATIONS, activation)} ({other})" if other else display(ACTIVATIONS, activation)
