"""The figures that `python -m analysis figure NAME` can draw: one function a file, rows → a matplotlib figure."""

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from analysis.figures.two_orders import two_orders
from analysis.load import Row

FIGURES: dict[str, Callable[[Sequence[Row]], Figure]] = {"two_orders": two_orders}
