"""Whether the runs of a table look like laws that intervals miss: a gap between runs, or skewed runs.

    found = looks({"relu": [78.9, 78.8, 79.1, 10.2, 78.7], "tanh": [70.1, 70.3, 69.8, 70.0, 70.2]})
    found.gaps["relu"].apart        1 run apart, below the other four

The tests assume normal runs, with another mean and another SD in each cell. In a table of normal runs they find
something with a probability of about `GAPPED` + `GAPPED_AT_ALL` + `SKEWED`, whatever the number of cells.
docs/pages/reference/coverage.md has the measured rates.

Three or four runs alone hardly show a gap, so their cells borrow: the usual variance within the groups of the other
cells counts like further runs. Cells with other SDs then give more false alarms, if the SDs are very different.
"""

import math
from collections.abc import Collection, Mapping, Sequence
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
USUAL = {3: 0.0658, 4: 0.2655}
"""Runs → the median of the squares within both groups of the clearest split, for normal runs with the SD 1."""
FELL = 0.5
"""A run below this part of its cell's median has fallen, if a value is a share of something."""
UNCLEAR = 0.25
"""A fallen run needs a gap with a p below this level."""


@dataclass(frozen=True)
class Borrowed:
    """A variance within groups, and for how many degrees of freedom it counts."""

    variance: float = 0.0
    df: float = 0.0


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


def gap(values: Sequence[float], step: float = 0.0, borrowed: Borrowed | None = None) -> Gap | None:
    """The clearest gap of the runs; None for fewer than three, for values that are not finite, and without a spread.

    For a fixed split of n normal runs, the variance within both groups is the share w of all variance, and w has the
    beta distribution with (n − 2) / 2 and 1/2. There are n over k splits with k runs in the smaller group, and n // 2
    numbers k; p counts them all (Bonferroni), so it is not too small for any n.

    step: the distance of two neighbouring possible values, as 1 / examples for an accuracy. Runs with the same value
    are taken to vary by it, and runs within `COARSE` steps show nothing.
    borrowed: from other cells; it adds to the variance within the groups and to its degrees of freedom.
    """
    import scipy.special  # slow to import; see `two_groups`

    runs = np.sort(np.asarray(values, dtype=np.float64))
    n = len(runs)
    if n < LEAST or not np.isfinite(runs).all() or np.ptp(runs) <= COARSE * step:
        return None
    more = borrowed or Borrowed()
    added = n * step**2 / 12 + more.df * more.variance
    found = []
    for low, within in _squares_within(runs):
        total = float(((runs - runs.mean()) ** 2).sum()) + added
        apart = min(low, n - low)
        splits = math.comb(n, apart) / (1 + (2 * apart == n))
        left = min((within + added) / total, 1.0)
        p = n // 2 * splits * float(scipy.special.betainc((n - 2 + more.df) / 2, 0.5, left))
        found.append(Gap(apart, n, 2 * low <= n, min(p, 1.0)))
    return min(found, key=lambda each: each.p)


def _squares_within(runs: np.ndarray) -> list[tuple[int, float]]:
    """For each split of sorted runs: the size of the lower group, and the sum of squares within both groups."""
    return [
        (low, sum(float(((part - part.mean()) ** 2).sum()) for part in (runs[:low], runs[low:])))
        for low in range(1, len(runs))
    ]


def looks(
    cells: Mapping[str, Sequence[float]], columns: Mapping[str, str] | None = None, shares: Collection[str] = ()
) -> Looks:
    """The cells of a table with a gap, and whether its runs are skewed.

    cells: the values of each cell's runs. columns: the column of each cell, for cells with different units or tasks;
    they borrow from their own column only. shares: the cells with shares or accuracies that should be high.
    """
    step, lent = _step([*cells.values()]), {}
    of = columns or dict.fromkeys(cells, "")
    for column in set(of.values()):
        lent |= _borrowed({key: values for key, values in cells.items() if of[key] == column}, step)
    gaps = {key: found for key, values in cells.items() if (found := gap(values, step, lent.get(key))) is not None}
    if not gaps:
        return Looks()
    seen = {key: found for key, found in gaps.items() if found.p < GAPPED / len(gaps)}
    if not seen and _all_together([found.p for found in gaps.values()]) < GAPPED_AT_ALL:
        seen = {key: found for key, found in gaps.items() if found.p < NAMED}
    fell = {key: found for key, found in gaps.items() if key in shares and found.p < UNCLEAR and _fell(cells[key])}
    named = {key: found for key, found in gaps.items() if key in {*seen, *fell}}
    return Looks(named, _skewed([cells[key] for key in gaps]))


def _borrowed(cells: Mapping[str, Sequence[float]], step: float) -> dict[str, Borrowed]:
    """For each cell of three or four runs: the usual variance within groups of the other such cells.

    Squares within groups are divided by their median for normal runs, so that a collapse of some runs changes little.
    The number of degrees of freedom is o / (o + 1/4) for o other cells: at most one, which suits arms with SDs that
    differ by a factor of e. A cell has its own variance, with the inverse χ² law of these degrees of freedom around
    the lent one (Smyth 2004).
    """
    import scipy.special

    logs = {}
    for key, values in cells.items():
        runs = np.sort(np.asarray(values, dtype=np.float64))
        if len(runs) in USUAL and np.isfinite(runs).all() and np.ptp(runs) > 0:
            squares = min(within for _, within in _squares_within(runs)) + len(runs) * step**2 / 12
            logs[key] = math.log(squares / USUAL[len(runs)]) if squares > 0 else -math.inf
    lent = {}
    for key in logs:
        others = [value for other, value in logs.items() if other != key]
        if others:
            df = len(others) / (len(others) + 0.25)
            usual = math.exp(float(np.median(others)))
            lent[key] = Borrowed(usual * float(scipy.special.chdtri(df, 0.5)) / df, df)
    return lent


def _fell(values: Sequence[float]) -> bool:
    """Whether some run, and fewer than half of all, lies below `FELL` of the median."""
    runs = np.asarray(values, dtype=np.float64)
    return bool((runs < FELL * np.median(runs)).any())


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
