"""The figures that `python -m analysis figure NAME` can draw: one function per file, `Asked` → `Drawing`.

The figures in `SHAPES` show activation functions and need no runs.
"""

from collections.abc import Callable

from analysis.figures.assays import assays
from analysis.figures.atari import atari
from analysis.figures.curves import curves
from analysis.figures.cycles import figure_6, figure_f1
from analysis.figures.dots import figure_e1, first_last
from analysis.figures.drawing import Asked, Drawing
from analysis.figures.early_warning import early_warning
from analysis.figures.learned_slopes import FIGURES as OF_LEARNED_SLOPES
from analysis.figures.matrix import matrix
from analysis.figures.sensitivity import sensitivity
from analysis.figures.shapes import ACTIVATIONS_FIGURE, SHAPES
from analysis.figures.shocks import FIGURES as OF_SHOCKS
from analysis.figures.shocks import figure_4
from analysis.figures.slopes import figure_1, figure_c1
from analysis.figures.two_orders import two_orders
from plasticity_lab.errors import ConfigError

FIGURES: dict[str, Callable[[Asked], Drawing]] = {
    "curves": curves,
    "atari": atari,
    "assays": assays,
    "figure1": figure_1,
    **OF_SHOCKS,
    "figure4": figure_4,
    "figure6": figure_6,
    "figureE1": figure_e1,
    "figureF1": figure_f1,
    "figureC1": figure_c1,
    **OF_LEARNED_SLOPES,
    "first_last": first_last,
    "early_warning": early_warning,
    "matrix": matrix,
    "sensitivity": sensitivity,
    "two_orders": two_orders,
}


READ_BY = {"metric": ("curves", "figureE1", "sensitivity"), "by": ("sensitivity",), "curves": (ACTIVATIONS_FIGURE,)}
"""Option of the command → the figures that read it. All figures of runs read the options not listed here."""


def named(name: str) -> str:
    """The name in FIGURES or SHAPES for a word: `figureF1`, `F1` and `f1` are equal.  Raises ConfigError."""
    by_word = {known.lower().removeprefix("figure"): known for known in (*FIGURES, *SHAPES)}
    if (bare := name.lower().removeprefix("figure")) not in by_word:
        raise ConfigError(f"There is no figure '{name}'; there are {', '.join((*FIGURES, *SHAPES))}.")
    return by_word[bare]
