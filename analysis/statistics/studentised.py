"""The studentised bootstrap: each replicate is measured in its own standard errors, and the interval in the data's.

It stands here to be compared (docs/statistics.md): where runs are few, many replicates draw one run again and again,
have no standard error, and the interval no end. `interval` has Student's t, which needs no draws.

Source: Efron and Tibshirani 1993, chapter 12; over strata as `bootstrap` draws them.
"""

from dataclasses import dataclass

import numpy as np

from analysis.statistics.bootstrap import REPLICATES, resampled
from analysis.statistics.contributions import AGGREGATES
from analysis.statistics.iqm import CUT, iqm
from analysis.statistics.student import apart
from analysis.statistics.summaries import mean_score


@dataclass(frozen=True)
class Studentised:
    """Low and high; both None where `reason` says why."""

    low: float | None
    high: float | None
    reason: str | None = None


def studentised(
    values_NM: np.ndarray, of: str, name: str, replicates: int = REPLICATES, level: float = 0.95, seed: int = 0
) -> Studentised:
    """The interval of the "mean" or the "iqm" of values (N runs, M tasks): estimate − t* s, with quantiles of t*.

    t* = (replicate − estimate) / its standard error; a replicate without one counts as infinitely far off, to its side.
    Raises ValueError for other aggregates.
    """
    values = np.asarray(values_NM, dtype=np.float64)
    if of not in ("mean", "iqm"):
        raise ValueError(f"The studentised bootstrap is of 'mean' or 'iqm', not of '{of}'.")
    part = AGGREGATES[of](list(values.T))
    own = apart([part])
    if own.error is None:
        return Studentised(None, None, own.reason)
    blocks = [arms[0] for arms in resampled([values], name, replicates, seed)]
    t = np.sort(np.concatenate([t_of(block, of, part.value) for block in blocks]))
    tail = (1 - level) / 2
    first, last = t[int(tail * len(t))], t[len(t) - 1 - int(tail * len(t))]
    if not np.isfinite([first, last]).all():
        return Studentised(None, None, "too many replicates draw one run alone")
    scale = float(errors(values[None], of)[0])
    return Studentised(part.value - float(last) * scale, part.value - float(first) * scale)


def t_of(drawn_RNM: np.ndarray, of: str, value: float) -> np.ndarray:
    """How far each replicate (R, N, M) lies from the value, in its own standard errors: (R,); 0 / 0 is 0."""
    off = (iqm if of == "iqm" else mean_score)(drawn_RNM) - value
    error = errors(drawn_RNM, of)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, off / error, np.where(off == 0, 0.0, np.copysign(np.inf, off)))


def errors(drawn_RNM: np.ndarray, of: str) -> np.ndarray:
    """The standard error of each replicate (R, N, M) → (R,): √(Σ_tasks s² / N) / M, of an IQM of winsorised runs."""
    many, tasks = drawn_RNM.shape[-2:]
    runs, part = drawn_RNM, 1.0
    if of == "iqm":
        cut = int(CUT * many * tasks)
        heap = np.sort(drawn_RNM.reshape(len(drawn_RNM), -1), axis=1)
        runs = np.clip(drawn_RNM, heap[:, cut, None, None], heap[:, -1 - cut, None, None])
        part = 1 - 2 * cut / (many * tasks)
    variance = np.where(np.ptp(runs, axis=1) > 0, runs.var(axis=1, ddof=1), 0.0)
    return np.sqrt(variance.sum(axis=1) / many) / tasks / part
