"""Student's t of an aggregate: the standard error of runs by task, its degrees of freedom, and the interval.

An aggregate of runs by task moves by Σ (the contributions of a task's runs, averaged over them) when the runs change a
little. So its variance is Σ_tasks s² / n of the contributions, as for a mean. Exact for a mean; for an interquartile
mean they are the winsorised runs (Tukey and McLaughlin 1963), its influence function.

One task: Student's interval of a mean, and Yuen's of a trimmed mean. Several: the variances of the tasks add up, with
the degrees of freedom of Welch and Satterthwaite. Nothing is drawn.

Legend: N runs, M tasks. NaN: a run that is missing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.summaries import CUT, iqm

Tasks = Sequence[np.ndarray]
"""The runs of each task, (n,) each, finite."""


@dataclass(frozen=True)
class Contributions:
    """value: the aggregate. added: the contribution of each run of each task, (n,) each. inside: how many runs of each
    task are not cut off and so make the variance; all of them if nothing is cut.
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
    """The median over tasks of their means: it varies with the one or two tasks in the middle.

    If tasks are nearly equal, other tasks could be in the middle; then the standard error is too large, not too small.
    """
    means = np.array([runs.mean() for runs in tasks])
    order, many = np.argsort(means, kind="stable"), len(tasks)
    middle = {int(order[(many - 1) // 2]), int(order[many // 2])}
    added = [runs / len(middle) if at in middle else np.zeros(len(runs)) for at, runs in enumerate(tasks)]
    return Contributions(float(np.median(means)), added, [len(runs) for runs in tasks])


def of_optimality_gap(tasks: Tasks) -> Contributions:
    """The mean shortfall of runs from 1, as in `summaries.optimality_gap`."""
    return of_mean([1.0 - np.minimum(runs, 1.0) for runs in tasks])


def of_iqm(tasks: Tasks) -> Contributions:
    """The interquartile mean of all runs; every task has the same weight.

    If all tasks have equal numbers of runs, this is `iqm`. Otherwise a run weighs 1 / (runs of its task), and whole
    runs are cut off at each end, up to a quarter of the total weight.
    """
    heap, weight = np.concatenate(tasks), math.lcm(*map(len, tasks))
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
"""The aggregates that have intervals."""


@dataclass(frozen=True)
class Error:
    """The standard error of an aggregate with its degrees of freedom."""

    error: float
    df: float

    def half_width(self, level: float) -> float:
        """Half the width of the interval of the aggregate."""
        import scipy.special  # slow to import; see `two_groups`

        return float(scipy.special.stdtrit(self.df, 0.5 + level / 2)) * self.error


def on_logit_scale(value: float, half: float, within: tuple[float, float]) -> tuple[float, float]:
    """The interval value ± half on the logit scale of a range, transformed back; so it never leaves the range.

    The share p = (value − low) / (high − low) has the logit log(p / (1 − p)), and by the delta method its half-width is
    the half-width of p, divided by p (1 − p). The value must be inside the range.
    """
    low, high = within
    part = (value - low) / (high - low)
    middle = math.log(part) - math.log1p(-part)
    reach = half / (high - low) / (part * (1 - part))
    first, last = ((1 + math.tanh((middle + sign * reach) / 2)) / 2 for sign in (-1, 1))
    return low + (high - low) * first, low + (high - low) * last


def apart(parts: Sequence[Contributions]) -> Error | None:
    """The standard error for one arm, or several compared arms, if each task has separate runs.

    If h of a task's n runs are inside the middle half of all runs of M tasks, the task has (n − 1) (h − a) / (n − a)
    degrees of freedom and the variance s² / n · (n − a) / n · h / (h − a), with a = 1 / M. Runs that are cut off give
    no information about the spread. None if the runs do not differ.

    Source: Yuen 1974; for one task the result is exactly her h − 1 and her variance. The extension to several tasks is
    ours, checked by simulation (docs/pages/reference/coverage.md).
    Without a cut it is Welch 1947 and Satterthwaite 1946.
    """
    variances, freedoms = [], []
    for part in parts:
        common = 1 / len(part.added)
        for n, kept, variance in zip(map(len, part.added), part.inside, _variances(part.added), strict=True):
            free, inside = n - 1.0, max(kept, 1)
            if part.cut:
                left = max(inside - common, common / 2)
                variance *= (n - common) / n * inside / left
                free *= left / (n - common)
            if variance:
                variances.append(variance)
                freedoms.append(free)
    return _error(variances, freedoms)


def together(parts: Sequence[Contributions]) -> Error | None:
    """The standard error if each row is a run that was trained on every task; None if the runs do not differ.

    A run is one draw, so correlation between its tasks counts. Each arm has one number per run: the sum of the run's
    contributions over the M tasks. If h of n values are inside the middle half, the variance is multiplied by
    (n − 1) h / (n (h − 1)), as in Yuen's. The N − 1 degrees of freedom are reduced by the fraction
    (1 − (h − 1) / (n − 1)) / M. For one task the result equals `apart`.
    """
    variances, freedoms = [], []
    for part in parts:
        rows = np.sum(part.added, axis=0)
        n, inside, tasks = sum(map(len, part.added)), sum(part.inside), len(part.added)
        if np.ptp(rows) == 0:
            continue
        variance, free = float(rows.var(ddof=1)) / len(rows), float(len(rows) - 1)
        if part.cut:
            variance *= (n - 1) * inside / (n * (inside - 1))
            free *= 1 - (1 - (inside - 1) / (n - 1)) / tasks
        variances.append(variance)
        freedoms.append(free)
    return _error(variances, freedoms)


def _variances(added: Sequence[np.ndarray]) -> list[float]:
    """s² / n of each task, exactly 0 if its runs are the same: a rounded mean would leave about 1e-33."""
    if len({*map(len, added)}) > 1:
        return [each for runs in added for each in _variances([runs])]
    runs = np.stack(added)
    return np.where(np.ptp(runs, axis=1) > 0, runs.var(axis=1, ddof=1) / runs.shape[1], 0.0).tolist()


def _error(variances: Sequence[float], freedoms: Sequence[float]) -> Error | None:
    """The sum of the variances, by Welch and Satterthwaite; at least one degree of freedom."""
    if not variances:
        return None
    total = sum(variances)
    df = total**2 / sum(variance**2 / free for variance, free in zip(variances, freedoms, strict=True))
    return Error(math.sqrt(total), max(df, 1.0))
