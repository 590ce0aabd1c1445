"""What each run adds to an aggregate, to first order: of these numbers an aggregate's standard error is made.

An aggregate of runs by task moves by Σ (what the runs of a task add, averaged over them) when the runs change a little.
So its variance is Σ_tasks s² / n of those numbers, as that of a mean is. Exact for a mean; for an interquartile mean
they are the winsorised runs (Tukey and McLaughlin 1963), its influence function.

Legend: N runs, M tasks. NaN: a run that is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np

from analysis.statistics.iqm import CUT, iqm

Tasks = Sequence[np.ndarray]
"""The runs of each task, (n,) each, finite."""


@dataclass(frozen=True)
class Contributions:
    """value: the aggregate. added: what each run of each task adds to it, (n,) each. inside: how many runs of each task
    are not cut off, of which what varies is made; all of them where nothing is cut.
    """

    value: float
    added: Sequence[np.ndarray]
    inside: Sequence[int]

    @property
    def cut(self) -> bool:
        """Whether runs are cut off."""
        return any(inside < len(runs) for inside, runs in zip(self.inside, self.added, strict=True))


def of_mean(tasks: Tasks) -> Contributions:
    """The mean over tasks of the mean over their runs."""
    value = float(np.mean([runs.mean() for runs in tasks]))
    return Contributions(value, [runs / len(tasks) for runs in tasks], [len(runs) for runs in tasks])


def of_median(tasks: Tasks) -> Contributions:
    """The median over tasks of their means: the one or two tasks in the middle carry it, so that it varies as they do.

    Where tasks are nearly alike, others could take their place; the standard error is too great then, not too small.
    """
    means = np.array([runs.mean() for runs in tasks])
    order, many = np.argsort(means, kind="stable"), len(tasks)
    middle = {int(order[(many - 1) // 2]), int(order[many // 2])}
    added = [runs / len(middle) if at in middle else np.zeros(len(runs)) for at, runs in enumerate(tasks)]
    return Contributions(float(np.median(means)), added, [len(runs) for runs in tasks])


def of_optimality_gap(tasks: Tasks, good: float = 1.0) -> Contributions:
    """By how much runs fall short of a good score, as `summaries.optimality_gap` has it."""
    return of_mean([good - np.minimum(runs, good) for runs in tasks])


def of_iqm(tasks: Tasks) -> Contributions:
    """The interquartile mean of all runs, in which every task weighs the same.

    With as many runs of each task it is `iqm`. Else a run weighs 1 / (runs of its task), and from either end as many
    whole runs are cut off as weigh at most a quarter together.
    """
    heap, weight = np.concatenate(tasks), lcm(*map(len, tasks))
    weights = np.repeat([weight // len(runs) for runs in tasks], [len(runs) for runs in tasks])
    order = np.argsort(heap, kind="stable")
    total, upto = int(weights.sum()), np.cumsum(weights[order])
    most = int(total * CUT)
    first = int(np.searchsorted(upto, most, side="right"))
    last = int(len(heap) - np.searchsorted(np.cumsum(weights[order[::-1]]), most, side="right")) - 1
    kept = order[first : last + 1]
    alike = len({len(runs) for runs in tasks}) == 1
    value = float(iqm(np.stack(tasks, axis=1)) if alike else np.average(heap[kept], weights=weights[kept]))
    low, high, part = heap[order[first]], heap[order[last]], weights[kept].sum() / total
    inside = np.zeros(len(heap), dtype=bool)
    inside[kept] = True
    ends = np.cumsum([len(runs) for runs in tasks])[:-1]
    return Contributions(
        value,
        [np.clip(runs, low, high) / (part * len(tasks)) for runs in tasks],
        [int(each.sum()) for each in np.split(inside, ends)],
    )


AGGREGATES: Mapping[str, Callable[[Tasks], Contributions]] = {
    "mean": of_mean,
    "iqm": of_iqm,
    "median": of_median,
    "optimality gap": of_optimality_gap,
}
"""What an interval can be of."""
