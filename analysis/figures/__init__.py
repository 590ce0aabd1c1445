"""The figures that `python -m analysis figure NAME` can draw: one function a file, what is asked for → a drawing."""

from collections.abc import Callable

from analysis.figures.asked import Asked
from analysis.figures.curves import curves
from analysis.figures.drawing import Drawing
from analysis.figures.figure_6 import figure_6
from analysis.figures.figure_e1 import figure_e1
from analysis.figures.figure_f1 import figure_f1
from analysis.figures.first_last import first_last
from analysis.figures.sensitivity import sensitivity
from analysis.figures.two_orders import two_orders

FIGURES: dict[str, Callable[[Asked], Drawing]] = {
    "curves": curves,
    "figure6": figure_6,
    "figureE1": figure_e1,
    "figureF1": figure_f1,
    "first_last": first_last,
    "sensitivity": sensitivity,
    "two_orders": two_orders,
}
