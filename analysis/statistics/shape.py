"""Whether the runs of a table look like laws that intervals miss: a gap between runs, or skewed runs.

    found = looks({"relu": [78.9, 78.8, 79.1, 10.2, 78.7], "tanh": [70.1, 70.3, 69.8, 70.0, 70.2]})
    found.gaps["relu"].apart        1 run apart, below the other four

The tests assume normal runs, with another mean and another SD in each cell. In a table of normal runs they find
something with a probability of at most `GAPPED` + `GAPPED_AT_ALL` + `SKEWED`, whatever the number of cells.
docs/pages/explanation/statistics.md has the measured rates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

GAPPED, GAPPED_AT_ALL, SKEWED = 0.04, 0.02, 0.02
"""The levels of a table for its three tests: one cell with a gap, gaps in all cells together, skewed cells."""
NAMED = 0.05
"""If all cells together have gaps, those with a p below this level are named."""
COARSE = 4
"""Runs that differ by at most this number of steps of their metric have no shape."""
LEAST = 3
"""The smallest number of runs that can show a gap."""


@dataclass(frozen=True)
class Gap:
    """The split of runs into a lower and a higher group that leaves the least variance within both.

    apart: the number of runs in the smaller group. of: the number of all runs. below: whether the smaller group is the
    lower one; if both are equal, it is. p: the probability of a split as clear as this one, if the runs are normal.
    """

    apart: int
    of: int
    below: bool
    p: float


@dataclass(frozen=True)
class Looks:
    """gaps: the cells with a gap. skewed: 1 if the runs of all cells are skewed to high values, -1 to low ones."""

    gaps: Mapping[str, Gap] = field(default_factory=dict)
    skewed: int = 0


def trimmed(many: int, of: int) -> bool:
    """Whether an interquartile mean could cut off one of two groups: one run, or at most a quarter of them."""
    return min(many, of - many) <= max(1, of // 4)


def gap(values: Sequence[float], step: float = 0.0) -> Gap | None:
    """The clearest gap of the runs; None for fewer than three, for values that are not finite, and without a spread.

    For a fixed split of n normal runs, the variance within both groups is the share w of all variance, and w has the
    beta distribution with (n − 2) / 2 and 1/2. There are n over k splits with k runs in the smaller group, and n // 2
    numbers k; p counts them all (Bonferroni), so it is not too small for any n.

    step: the distance of two neighbouring possible values, as 1 / examples for an accuracy. Runs with the same value
    are taken to vary by it, and runs within `COARSE` steps show nothing.
    """
    import scipy.special  # slow to import; see `two_groups`

    runs = np.sort(np.asarray(values, dtype=np.float64))
    n = len(runs)
    if n < LEAST or not np.isfinite(runs).all() or np.ptp(runs) <= COARSE * step:
        return None
    noise = n * step**2 / 12
    total = float(((runs - runs.mean()) ** 2).sum()) + noise
    found = []
    for low in range(1, n):
        within = sum(float(((part - part.mean()) ** 2).sum()) for part in (runs[:low], runs[low:])) + noise
        apart = min(low, n - low)
        splits = math.comb(n, apart) / (1 + (2 * apart == n))
        p = n // 2 * splits * float(scipy.special.betainc((n - 2) / 2, 0.5, min(within / total, 1.0)))
        found.append(Gap(apart, n, 2 * low <= n, min(p, 1.0)))
    return min(found, key=lambda each: each.p)


def looks(cells: Mapping[str, Sequence[float]]) -> Looks:
    """The cells of a table with a gap, and whether its runs are skewed.  cells: the values of each cell's runs."""
    step = _step([*cells.values()])
    gaps = {key: found for key, values in cells.items() if (found := gap(values, step)) is not None}
    if not gaps:
        return Looks()
    seen = {key: found for key, found in gaps.items() if found.p < GAPPED / len(gaps)}
    if not seen and _all_together([found.p for found in gaps.values()]) < GAPPED_AT_ALL:
        seen = {key: found for key, found in gaps.items() if found.p < NAMED}
    return Looks(seen, _skewed([cells[key] for key in gaps]))


def _step(cells: Sequence[Sequence[float]]) -> float:
    """The smallest distance of two different values of one cell: the metric has no finer one."""
    distances = [np.diff(np.unique(np.asarray(values, dtype=np.float64))) for values in cells]
    every = np.concatenate([np.empty(0), *distances])
    every = every[np.isfinite(every)]
    return float(every.min()) if len(every) and any(len({*values}) < len(values) for values in cells) else 0.0


def _all_together(p_values: Sequence[float]) -> float:
    """The p of all cells together.  Source: Fisher 1932."""
    import scipy.special

    return float(scipy.special.gammaincc(len(p_values), -np.log(np.maximum(p_values, 1e-300)).sum()))


def _skewed(cells: Sequence[Sequence[float]]) -> int:
    """The sign of the summed skewness of the cells if it is significant, otherwise 0.

    For n normal runs its variance is 6 (n − 2) / ((n + 1) (n + 3)) (Fisher 1930).
    """
    import scipy.special

    total = variance = 0.0
    for values in cells:
        runs = np.asarray(values, dtype=np.float64)
        off, n = runs - runs.mean(), len(runs)
        total += float((off**3).mean() / (off**2).mean() ** 1.5)
        variance += 6 * (n - 2) / ((n + 1) * (n + 3))
    z = total / math.sqrt(variance)
    return int(np.sign(z)) if abs(z) > -float(scipy.special.ndtri(SKEWED / 2)) else 0
