"""Figures of activations themselves, φ and φ′: Figures 5, G1, G2, and one of any activations. They need no runs."""

from collections.abc import Mapping, Sequence

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
        "here they come from conf/activation/.",
    ),
    "figureG1": (
        "Figure G1: Bo-PReLU",
        "α between 0.6 and 0.8, starting at 0.65, as the paper says.",
    ),
    "figureG2": ("Figure G2: R-SeLU", "r ~ U(0.9232, 2.4232), as the paper says."),
}
"""Figure → its title, and the settings of its activations."""
SHAPES: tuple[str, ...] = (ACTIVATIONS_FIGURE, *PAPER)
"""The figures that need no runs."""
Numbers = Sequence[Sequence[float]]


def figure(name: str, curves: Sequence[ActivationCurve] | None) -> Drawing:
    """One of SHAPES.  curves: for ACTIVATIONS_FIGURE; None: every activation at its default settings."""
    if name == ACTIVATIONS_FIGURE:
        title, said = "Activations", [] if curves else ["At the settings of conf/activation/."]
        curves = curves or of_defaults()
    else:
        title, said = PAPER[name][0], [PAPER[name][1]]
        curves = of_figure(name)
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
    if any(curve.activation == "swiglu" for curve in curves):
        said.append("SwiGLU: along its gate, with the other half of the input at 1.")
    return Drawing(name, title, panels, said)


def _series(curve: ActivationCurve, outputs: Numbers, ends: Sequence[Numbers] | None) -> list[Series]:
    """A line for each output of a curve.  ends: the bounds of each output, if they are drawn."""
    label = curve.label or _label(curve.activation, curve.settings)
    found = []
    for place, y in enumerate(outputs):
        name = label if len(outputs) == 1 else f"{label}, output {place + 1}"
        bounds = zip(*(end[place] for end in ends), strict=True) if ends is not None else ()
        spread = [(min(each), max(each)) for each in bounds]
        found.append(Series(name, curve.activation, curve.x, y, n=[0] * len(y), y_range=spread))
    return found


def _label(activation: str, settings: Mapping[str, object]) -> str:
    """The name with the settings that differ from their values in conf/activation/."""
    own = option("activation", activation)
    other = ", ".join(f"{name}={word(value)}" for name, value in settings.items() if value != own.get(name))
    return f"{display(ACTIVATIONS, activation)} ({other})" if other else display(ACTIVATIONS, activation)
