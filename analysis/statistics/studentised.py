"""The studentised bootstrap: replicates are scaled by their standard errors, the interval by the data's.

It is here for comparison (docs/statistics.md). With few runs, many replicates draw a single run repeatedly and have no
standard error; then the interval has no ends. `interval` uses Student's t, which draws nothing.

Source: Efron and Tibshirani 1993, chapter 12; strata as in `bootstrap`.
"""

import numpy as np

from analysis.statistics.bootstrap import REPLICATES, resampled
from analysis.statistics.interval import Interval
from analysis.statistics.iqm import CUT, iqm
from analysis.statistics.method import Method
from analysis.statistics.student import AGGREGATES, apart
from analysis.statistics.summaries import mean_score


def studentised(
    values_NM: np.ndarray, of: str, name: str, replicates: int = REPLICATES, level: float = 0.95
) -> Interval:
    """The "mean" or the "iqm" of values (N runs, M tasks) with its interval: value − t* s, with quantiles of t*.

    t* = (replicate − value) / its standard error; a replicate without one counts as infinitely far off, to its side.
    Raises ValueError for other aggregates.
    """
    values = np.asarray(values_NM, dtype=np.float64)
    if of not in ("mean", "iqm"):
        raise ValueError(f"The studentised bootstrap is of 'mean' or 'iqm', not of '{of}'.")
    part = AGGREGATES[of](list(values.T))
    low, high, reason = None, None, "the runs do not differ"
    if apart([part]) is not None:
        blocks = [arms[0] for arms in resampled([values], name, replicates)]
        t = np.sort(np.concatenate([t_of(block, of, part.value) for block in blocks]))
        cut = int((1 - level) / 2 * len(t))
        first, last = t[cut], t[len(t) - 1 - cut]
        reason = None if np.isfinite([first, last]).all() else "too many replicates draw one run alone"
        if reason is None:
            scale = float(errors(values[None], of)[0])
            low, high = part.value - float(last) * scale, part.value - float(first) * scale
    method = Method("studentised bootstrap", level, replicates, seed=0)
    return Interval(part.value, low, high, method, (len(values),) * values.shape[1], reason=reason)


def t_of(drawn_RNM: np.ndarray, of: str, value: float) -> np.ndarray:
    """The distance of each replicate (R, N, M) from the value, in its own standard errors: (R,); 0 / 0 is 0."""
    off = (iqm if of == "iqm" else mean_score)(drawn_RNM) - value
    error = errors(drawn_RNM, of)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, off / error, np.where(off == 0, 0.0, np.copysign(np.inf, off)))


def errors(drawn_RNM: np.ndarray, of: str) -> np.ndarray:
    """The standard error of each replicate, (R, N, M) → (R,): √(Σ_tasks s² / N) / M; for an IQM of winsorised runs."""
    many, tasks = drawn_RNM.shape[-2:]
    runs, part = drawn_RNM, 1.0
    if of == "iqm":
        cut = int(CUT * many * tasks)
        heap = np.sort(drawn_RNM.reshape(len(drawn_RNM), -1), axis=1)
        runs = np.clip(drawn_RNM, heap[:, cut, None, None], heap[:, -1 - cut, None, None])
        part = 1 - 2 * cut / (many * tasks)
    variance = np.where(np.ptp(runs, axis=1) > 0, runs.var(axis=1, ddof=1), 0.0)
    return np.sqrt(variance.sum(axis=1) / many) / tasks / part
