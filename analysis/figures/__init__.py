"""The figures that `python -m analysis figure NAME` can draw: one function a file, rows → a matplotlib figure."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analysis.figures.two_orders import two_orders
from analysis.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[Sequence[Row]], "Figure"]] = {"two_orders": two_orders}
