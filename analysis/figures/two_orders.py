"""What the order of the batches measures: online against final accuracy, in class blocks and shuffled."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from analysis.names import ACTIVATIONS, BENCHMARKS, display
from analysis.rows import Row, key
from plasticity_lab.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDERS = {"class_blocks": ("in class blocks", "o"), "shuffle": ("shuffled", "^")}


def two_orders(rows: Sequence[Row]) -> "Figure":
    """Each activation twice, joined by a line: mean online and mean final accuracy of its runs in either order.

    Above the diagonal the gap is positive: the network knows more at a task's end than it showed on the way. Far below
    it, it followed the class shown last.  Raises ConfigError unless one benchmark's runs are there in both orders.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure  # half a second, which those who want a table need not wait

    points = _points(rows)
    both = sorted({which for which, order in points if {(which, other) for other in ORDERS} <= points.keys()})
    benchmarks = {row.benchmark for row in rows if row.study.get("benchmark.order") in ORDERS}
    if not both or len(benchmarks) > 1:
        raise ConfigError(
            "The figure two_orders needs the runs of one benchmark in two orders, benchmark.order=class_blocks and "
            "benchmark.order=shuffle (protocol=as_published and protocol=clean of cifar51); choose with --benchmark."
        )
    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    axes = figure.subplots()
    axes.axline((0, 0), slope=1, color="0.8", zorder=0)
    for words, marker in ORDERS.values():
        axes.plot([], [], marker, color="0.3", label=words)
    for which, colour in zip(both, colormaps["turbo"](np.linspace(0.05, 0.95, len(both))), strict=True):
        pair = np.array([points[which, order] for order in ORDERS])
        axes.plot(*pair.T, color=colour, linewidth=1.5, label=display(ACTIVATIONS, which[0]))
        for (online, final), (_, marker) in zip(pair, ORDERS.values(), strict=True):
            axes.plot(online, final, marker, color=colour, markersize=6)
    axes.set(
        xlim=(0, 100),
        ylim=(0, 100),
        xlabel="online accuracy, mean over hard tasks (%)",
        ylabel="accuracy at the end of a task, mean over hard tasks (%)",
        title=f"{display(BENCHMARKS, benchmarks.pop())}: the same networks, the batches in two orders",
    )
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _points(rows: Sequence[Row]) -> dict[tuple[tuple[str, str], str], tuple[float, float]]:
    """((activation, its settings), order) → percent online and at the end, means over the finished runs."""
    found: dict[tuple[tuple[str, str], str], dict[str, tuple[float, float]]] = {}
    for row in rows:
        order = row.study.get("benchmark.order")
        if row.status == "done" and order in ORDERS and {"taoa", "final_accuracy"} <= row.summary.keys():
            values = 100 * row.summary["taoa"], 100 * row.summary["final_accuracy"]
            found.setdefault(((row.activation, key(row.own)), order), {})[row.run] = values
    return {which: tuple(np.mean(list(runs.values()), axis=0)) for which, runs in found.items()}
