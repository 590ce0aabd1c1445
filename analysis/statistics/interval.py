"""Intervals with correct coverage, for an aggregate of runs, a difference of arms, and a probability of improvement.

    interval(values_NM, of="iqm")                       Student's t; with winsorised runs if some are cut off
    interval(values_NM, of="iqm", method=PERCENTILE)    the papers' stratified percentile bootstrap
    interval(values_NM, within=(0, 100))                on the logit scale, if Student's t would leave the range
    difference(ours_NM, theirs_KM, of="iqm")            Student's t for the difference
    difference(ours_N, theirs_K, within=(0, 100))       made of both arms' intervals, if one is on the logit scale
    improvement_interval(ours_NM, theirs_KM)            Student's t for the probability that a run of ours wins

values_NM: runs × tasks, or (N,) for one task. NaN: a missing run; tasks may have unequal numbers of runs.
of: "mean", "iqm", "median" (over the tasks' means) or "optimality gap".
rows: "apart" if each task, such as a game, has separate runs. "together" if a row is one run that was trained on every
task, as in a cycle of environments: then correlation between its tasks counts, and no row may lack a task.

Each returns an `Interval`: value, low, high, method (its `words` are for a caption), runs (of each task), and `reason`
if a number is None. `method.coverage` says how often such intervals contain the true value. All need at least two runs
of each task; with two, the intervals are wide. If values are infinite, they are counted and no number is computed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from analysis.statistics.bootstrap import bootstrap
from analysis.statistics.method import HYBRID, LOGIT, PERCENTILE, STUDENT, WHOLE_RUNS, WINSORISED, Method
from analysis.statistics.student import AGGREGATES, Contributions, Tasks, apart, on_logit_scale, together
from analysis.statistics.summaries import iqm, mean_score, median_score, optimality_gap

Rows = Literal["apart", "together"]
_BY_REPLICATE = {"mean": mean_score, "iqm": iqm, "median": median_score, "optimality gap": optimality_gap}
"""The same aggregates of many replicates at once."""


@dataclass(frozen=True)
class Interval:
    """A number with its interval. Numbers are None if `reason` says why; a single run gives a value and no interval.

    method: the interval's method. runs: the number of runs of each task; if two arms are compared, first those for the
    first arm, then those for the second.
    """

    value: float | None
    low: float | None
    high: float | None
    method: Method
    runs: tuple[int, ...]
    reason: str | None = None

    @property
    def number(self) -> float:
        """The value.  Raises TypeError if it is None."""
        if self.value is None:
            raise TypeError(f"There is no value: {self.reason}.")
        return self.value

    @property
    def ends(self) -> tuple[float, float] | None:
        """Low and high, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def interval(
    values_NM: np.ndarray,
    of: str = "mean",
    method: Method = STUDENT,
    rows: Rows = "apart",
    name: str = "",
    within: tuple[float, float] | None = None,
) -> Interval:
    """The aggregate of an arm's runs with its interval.

    method: `STUDENT`, or `PERCENTILE`; it holds the level, and for a bootstrap the replicates and the seed. name: the
    arm's name; together with the method's seed it decides which runs are drawn.
    within: the range of all possible values, such as (0, 100) for an accuracy in percent. If Student's t would leave
    it, the interval is made on the logit scale, and `method` says so; all other intervals stay the same. A range that
    does not hold every value is ignored. It changes no percentile bootstrap, which never leaves the range.

    Raises ValueError for values with more than two axes.
    """
    tasks, found = _sorted(values_NM, method)
    if tasks is None:
        return found
    part = AGGREGATES[of](tasks)
    found = replace(found, value=part.value)
    if method.name == PERCENTILE.name:
        return _drawn(tasks, of, found, name)
    found = _by_student(found, [part], rows)
    holds = within is not None and all(within[0] <= runs.min() and runs.max() <= within[1] for runs in tasks)
    return _inside(found, within) if within and holds else found


def difference(
    ours_NM: np.ndarray, theirs_KM: np.ndarray, of: str = "mean", within: tuple[float, float] | None = None
) -> Interval:
    """Our aggregate minus their aggregate, for two arms with the same tasks and separate runs.

    For means on one task this is the interval of Welch's test.
    within: the range of all possible values of one task, as in `interval`. If an arm's own interval is on the logit
    scale, the difference has the hybrid of both arms' intervals, which never leaves the possible range:
    low = d − √((ours − its low)² + (their high − theirs)²), high likewise (Newcombe 1998, Zou and Donner 2008).

    Raises ValueError as `interval` does, and if the arms have different numbers of tasks.
    """
    found = _of_two(ours_NM, theirs_KM, lambda *arms: [AGGREGATES[of](arm) for arm in arms])
    if within is None or found.ends is None or len(found.runs) != 2:
        return found
    ours, theirs = (interval(arm, of, within=within) for arm in (ours_NM, theirs_KM))
    bounded = any(LOGIT in arm.method.name for arm in (ours, theirs))
    if not bounded or ours.ends is None or theirs.ends is None:
        return found
    below = math.hypot(ours.number - ours.ends[0], theirs.ends[1] - theirs.number)
    above = math.hypot(ours.ends[1] - ours.number, theirs.number - theirs.ends[0])
    method = replace(found.method, name=found.method.name + LOGIT + HYBRID)
    return replace(found, low=found.number - below, high=found.number + above, method=method)


def improvement_interval(ours_NM: np.ndarray, theirs_KM: np.ndarray, level: float = 0.95) -> Interval:
    """The probability that a run of ours beats one of theirs on the same task, averaged over tasks; a tie is half.

    The contribution of a run is the part of the other arm that it beats: DeLong's variance, with the degrees of freedom
    of Brunner and Munzel. If every run of one arm beats every run of the other, nothing varies: no interval.

    Source: Brunner and Munzel 2000; Agarwal et al. 2021 for the average.  Raises ValueError as `difference` does.
    """
    return _of_two(ours_NM, theirs_KM, _wins, replace(STUDENT, level=level))


def _of_two(
    ours_NM: np.ndarray,
    theirs_KM: np.ndarray,
    parts_of: Callable[[Tasks, Tasks], list[Contributions]],
    method: Method = STUDENT,
) -> Interval:
    ours, first = _sorted(ours_NM, method)
    theirs, second = _sorted(theirs_KM, method)
    if len(first.runs) != len(second.runs):
        raise ValueError(f"Arms are compared on the same tasks; these have {len(first.runs)} and {len(second.runs)}.")
    found = replace(first, runs=first.runs + second.runs, reason=first.reason or second.reason)
    if ours is None or theirs is None:
        return found
    parts = parts_of(ours, theirs)
    return _by_student(replace(found, value=parts[0].value - parts[1].value), parts, "apart")


def _wins(ours: Tasks, theirs: Tasks) -> list[Contributions]:
    """The contributions of both arms to the probability that our runs win. Our arm carries the value, theirs has 0."""
    mine, others = [], []
    for a, b in zip(ours, theirs, strict=True):
        beats = (np.greater.outer(a, b).astype(float) + np.greater_equal.outer(a, b)) / (2 * len(ours))
        mine.append(beats.mean(axis=1))
        others.append(beats.mean(axis=0))
    value = float(sum(each.mean() for each in mine))
    return [Contributions(value, mine, [*map(len, mine)]), Contributions(0.0, others, [*map(len, others)])]


def _sorted(values_NM: np.ndarray, method: Method) -> tuple[list[np.ndarray] | None, Interval]:
    """The runs of each task, None if no number can be computed; and an interval without its numbers."""
    values = np.asarray(values_NM, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        raise ValueError(f"Values are (runs, tasks); these have the shape {values.shape}.")
    tasks = [runs[~np.isnan(runs)] for runs in values.T]
    runs, infinite = tuple(map(len, tasks)), int(np.isinf(values).sum())
    reason = None
    if not runs or min(runs) == 0:
        reason = "no runs" if not runs or max(runs) == 0 else f"{runs.count(0)} of {len(runs)} tasks have no run"
    elif infinite:
        reason = f"{infinite} of {sum(runs)} values are infinite"
    return (None if reason else tasks), Interval(None, None, None, method, runs, reason)


def _by_student(found: Interval, parts: Sequence[Contributions], rows: Rows) -> Interval:
    cut = any(part.cut for part in parts)
    whole = WHOLE_RUNS if rows == "together" and len(parts[0].added) > 1 else ""
    level = found.method.level
    found = replace(found, method=Method((WINSORISED if cut else STUDENT.name) + whole, level))
    if reason := _why_not(found, parts, rows):
        return replace(found, reason=reason)
    error = (together if rows == "together" else apart)(parts)
    if error is None:
        return replace(found, reason="the runs do not differ")
    half = error.half_width(level)
    return replace(found, low=found.number - half, high=found.number + half)


def _inside(found: Interval, within: tuple[float, float]) -> Interval:
    """The interval itself if it is within the range; otherwise the interval on the logit scale."""
    low, high = within
    if found.ends is None or (low <= found.ends[0] and found.ends[1] <= high):
        return found
    first, last = on_logit_scale(found.number, found.ends[1] - found.number, within)
    method = replace(found.method, name=found.method.name + LOGIT)
    return replace(found, low=first, high=last, method=method)


def _why_not(found: Interval, parts: Sequence[Contributions], rows: Rows) -> str | None:
    """Why runs have no interval."""
    if min(found.runs) < 2:
        return "one run has no interval" if len(found.runs) == 1 else "a task with one run"
    if any(part.cut and len(part.added) > 1 and sum(part.inside) < 3 for part in parts):
        return "fewer than three values in the middle half"
    if rows == "together" and any(len({*map(len, part.added)}) > 1 for part in parts):
        return "a run that lacks a task"
    return None


def _drawn(tasks: Sequence[np.ndarray], of: str, found: Interval, name: str) -> Interval:
    """The interval by `bootstrap`, which needs equal numbers of runs for all tasks."""
    if len(set(found.runs)) > 1:
        return replace(found, reason="tasks with unequal numbers of runs, which this bootstrap does not draw")
    if min(found.runs) < 2:
        return replace(found, reason="one run has no interval")
    if all(np.ptp(runs) == 0 for runs in tasks):
        return replace(found, reason="the runs do not differ")
    made = bootstrap(_BY_REPLICATE[of], np.stack(tasks, axis=1), name=name, **found.method.draws).interval
    return replace(found, low=made[0], high=made[1]) if made else found
