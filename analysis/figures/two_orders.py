"""The effect of the order of batches: online against final accuracy, in class blocks and shuffled."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.figures.drawing import Asked, Drawing, Marker, Panel, Series
from analysis.names import ACTIVATIONS, BENCHMARKS, display
from analysis.outcomes import ended, why_none
from analysis.rows import Row, key, varying
from analysis.setting_words import words_of
from plasticity_lab.errors import ConfigError

ORDERS: Mapping[str, tuple[str, Marker]] = {
    "class_blocks": ("in class blocks", "filled"),
    "shuffle": ("shuffled", "triangle"),
}
ONLINE, FINAL = "online accuracy (%)", "accuracy at the end of a task (%)"
Which = tuple[str, str, str]
"""A benchmark, an activation and its settings as a word."""
Points = Mapping[tuple[Which, str], NDArray[np.float64]]
"""(benchmark, activation and settings; order) → percent online and at the end, one row per finished run."""


def two_orders(asked: Asked) -> Drawing:
    """Each activation twice, joined by a line: mean online and mean final accuracy of its runs in either order.

    Above the diagonal the gap is positive: accuracy at a task's end is higher than online. Far below the diagonal, the
    network followed the last class shown.  Raises ConfigError if no benchmark has runs in both orders.
    """
    points = _points(asked.rows)
    both = sorted({which for which, order in points if {(which, other) for other in ORDERS} <= points.keys()})
    if not both:
        raise ConfigError(_nothing(asked.rows))
    label_of = _labels(both)
    panels = []
    for benchmark in dict.fromkeys(which[0] for which in both):
        series = [Series(words, "", [], [], [], joined=False, marker=marker) for words, marker in ORDERS.values()]
        for which in both:
            if which[0] == benchmark:
                series += _series(which, label_of[which], points)
        panels.append(Panel(display(BENCHMARKS, benchmark), ONLINE, FINAL, series, diagonal=True))
    caption = _caption(asked.rows, points, both)
    return Drawing("two_orders", "The same networks, the batches in two orders", panels, caption)


def _nothing(rows: Sequence[Row]) -> str:
    """Why no activation has runs in both orders."""
    orders: dict[tuple[str, str], set[object]] = {}
    for row in rows:
        orders.setdefault((row.benchmark, row.activation), set()).add(row.study.get("benchmark.order"))
    in_both = [row for row in rows if set(ORDERS) <= orders[row.benchmark, row.activation]]
    if in_both:
        return f"No activation has runs with a value in both orders: {why_none(ended(in_both), 'taoa')}."
    return (
        "The figure two_orders needs the runs of one benchmark in two orders, benchmark.order=class_blocks and "
        "benchmark.order=shuffle: protocol=as_published and protocol=clean of cifar51."
    )


def _labels(whiches: Sequence[Which]) -> dict[Which, str]:
    """An activation's name, with its settings if it has several."""
    labels = {}
    for which in whiches:
        alike = [json.loads(own) for benchmark, activation, own in whiches if (benchmark, activation) == which[:2]]
        words = words_of(json.loads(which[2]), varying(alike))
        name = display(ACTIVATIONS, which[1])
        labels[which] = f"{name} ({words})" if words else name
    return labels


def _series(which: Which, label: str, points: Points) -> list[Series]:
    """The line that joins the two means, and a point with its spread for each order."""
    runs = {order: points[which, order] for order in ORDERS}
    means = np.array([values.mean(axis=0) for values in runs.values()])
    series = [Series(label, which[1], *means.T.tolist(), n=[len(values) for values in runs.values()])]
    for (x, y), (order, values) in zip(means.tolist(), runs.items(), strict=True):
        sd = values.std(axis=0, ddof=1).tolist() if len(values) > 1 else (None, None)
        series.append(
            Series(
                label, which[1], [x], [y], [len(values)], x_sd=[sd[0]], y_sd=[sd[1]], joined=False,
                marker=ORDERS[order][1], listed=False,
            )
        )  # fmt: skip
    return series


def _caption(rows: Sequence[Row], points: Points, both: Sequence[Which]) -> list[str]:
    """The sentences on the points, and on the runs that are not in them."""
    seeds = sorted({len(points[which, order]) for which in both for order in ORDERS})
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    lines = [
        f"Means over hard tasks and {many} seeds, ± 1 SD over seeds. Above the grey line a network knows more at the "
        "end of a task than it showed on the way; far below it, it followed the class shown last."
    ]
    seen = {which[0] for which in both}
    if words := why_none(ended(row for row in rows if row.benchmark in seen), "taoa"):
        lines.append(f"Not shown: {words}.")
    alone = sorted({which for which, _ in points if which not in both and which[0] in seen})
    if alone:
        label_of = _labels([*both, *alone])
        words = ", ".join(dict.fromkeys(label_of[which] for which in alone))
        lines.append(f"Not shown, being there in one order only: {words}.")
    return lines


def _points(rows: Sequence[Row]) -> Points:
    found: dict[tuple[Which, str], dict[str, tuple[float, float]]] = {}
    for row in rows:
        order = str(row.study.get("benchmark.order"))
        online, final = (row.summary.get(name) for name in ("taoa", "final_accuracy"))
        if row.status == "done" and order in ORDERS and online is not None and final is not None:
            which = row.benchmark, row.activation, key(row.own)
            found.setdefault((which, order), {})[row.run] = 100 * online, 100 * final
    return {which: np.array(list(runs.values())) for which, runs in found.items()}
