"""Student's t of what runs add to an aggregate: its standard error, its degrees of freedom, and the interval.

One task: Student's interval of a mean, and Yuen's of a trimmed mean. Several: the variances of the tasks add up, with
the degrees of freedom of Welch and Satterthwaite. Nothing is drawn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.contributions import Contributions


@dataclass(frozen=True)
class Error:
    """The standard error of an aggregate with its degrees of freedom; both None where `reason` says why."""

    error: float | None
    df: float | None
    reason: str | None = None


def apart(parts: Sequence[Contributions]) -> Error:
    """Of runs of their own for each task, of one arm or of several that are compared.

    A task with h of its n runs inside the middle half of M tasks has (n − 1) (h − a) / (n − a) degrees of freedom and
    the variance s² / n · (n − a) / n · h / (h − a), where a = 1 / M: what is cut off says nothing of the spread.

    Source: Yuen 1974 for one task, where it is her h − 1 and her variance exactly; spread over tasks here, and tried
    by simulation (docs/statistics.md). Without a cut it is Welch 1947 and Satterthwaite 1946.
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


def together(parts: Sequence[Contributions]) -> Error:
    """Of runs that met every task, row by row the same: a run is one draw, whatever its tasks have in common.

    Each arm has one number a run, the sum of what it adds over its M tasks. Where h of n values are inside the middle
    half, its variance is made greater by (n − 1) h / (n (h − 1)), as Yuen's is, and of its N − 1 degrees of freedom the
    part (1 − (h − 1) / (n − 1)) / M is lost: for one task it is `apart`.
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


def half_width(error: Error, level: float) -> float:
    """Half the width of the interval of an aggregate.  Raises ValueError where there is no standard error."""
    import scipy.special  # slow to import; see `welch`

    if error.error is None or error.df is None:
        raise ValueError(f"There is no standard error: {error.reason}.")
    return float(scipy.special.stdtrit(error.df, 0.5 + level / 2)) * error.error


def _variances(added: Sequence[np.ndarray]) -> list[float]:
    """s² / n of each task, exactly 0 where its runs are the same: a rounded mean would leave some 1e-33."""
    if len({*map(len, added)}) > 1:
        return [each for runs in added for each in _variances([runs])]
    runs = np.stack(added)
    return np.where(np.ptp(runs, axis=1) > 0, runs.var(axis=1, ddof=1) / runs.shape[1], 0.0).tolist()


def _error(variances: Sequence[float], freedoms: Sequence[float]) -> Error:
    """Variances that add up, by Welch and Satterthwaite; one degree of freedom at least."""
    if not variances:
        return Error(None, None, "the runs do not differ")
    total = sum(variances)
    df = total**2 / sum(variance**2 / free for variance, free in zip(variances, freedoms, strict=True))
    return Error(math.sqrt(total), max(df, 1.0))
