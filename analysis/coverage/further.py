"""Further laws: intervals of such runs often miss the truth; and the measures that hold there.

`python -m analysis coverage --further` simulates them. Each case has the laws of its arms, the interval of a number,
and the true value of this number. All runs are of one task.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.special
import scipy.stats

from analysis.coverage.simulation import GRID, LAWS, Ends, Law
from analysis.statistics.bootstrap import keyed
from analysis.statistics.interval import difference, improvement_interval, interval
from analysis.statistics.permutation import permutation
from analysis.statistics.shares import clopper_pearson
from analysis.statistics.summaries import CUT

PART, FALL = 0.1, 30.0
"""The part of all runs that collapse, and how far they fall, in SDs of the other runs."""
BELOW = -FALL / 2
"""A run below has collapsed."""
PERCENT = (0.0, 100.0)
LEVEL = 0.05


def _mixed(part: float, low: float, high: float, sd: float) -> Law:
    """Two normal humps: `part` of all runs around `low`, the others around `high`."""

    def draw(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.where(stream.random(shape) < part, low, high) + sd * stream.normal(size=shape)

    def grid() -> np.ndarray:
        x = np.unique(np.concatenate([hump + sd * np.linspace(-6, 6, GRID) for hump in (low, high)]))
        cdf = part * scipy.special.ndtr((x - low) / sd) + (1 - part) * scipy.special.ndtr((x - high) / sd)
        return np.interp(_places(), cdf, x)

    return Law(draw, grid)


def _fallen(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """One run in ten falls by `FALL` SDs, three more in ten by a third of it."""
    drawn = stream.random(shape)
    return np.select([drawn < PART, drawn < 4 * PART], [-FALL, -FALL / 3], 0.0) + stream.normal(size=shape)


def _fallen_grid() -> np.ndarray:
    x = np.unique(np.concatenate([hump + np.linspace(-6, 6, GRID) for hump in (-FALL, -FALL / 3, 0.0)]))
    cdf = sum(
        part * scipy.special.ndtr(x - hump) for part, hump in ((PART, -FALL), (3 * PART, -FALL / 3), (1 - 4 * PART, 0))
    )
    return np.interp(_places(), cdf, x)


def _transformed(of: Callable[[np.ndarray], np.ndarray]) -> Law:
    """A function of a normal run."""
    return Law(lambda stream, shape: of(stream.normal(size=shape)), lambda: np.sort(of(scipy.special.ndtri(_places()))))


def _beta(a: float, b: float) -> Law:
    """Accuracies in percent, from a beta distribution."""
    return Law(
        lambda stream, shape: 100 * stream.beta(a, b, size=shape),
        lambda: 100 * scipy.special.betaincinv(a, b, _places()),
    )


def _places() -> np.ndarray:
    return (np.arange(GRID) + 0.5) / GRID


FURTHER: Mapping[str, Law] = {
    "one seed in ten collapses": _mixed(PART, -FALL, 0.0, 1.0),
    "lognormal 1.5": _transformed(lambda x: np.exp(1.5 * x)),
    "two equal humps": _mixed(0.5, -1.0, 1.0, 0.1),
    "heavy tails": Law(
        lambda stream, shape: stream.standard_t(3, size=shape), lambda: scipy.special.stdtrit(3, _places())
    ),
    "very heavy tails": Law(
        lambda stream, shape: stream.standard_t(2, size=shape), lambda: scipy.special.stdtrit(2, _places())
    ),
    "two kinds of collapse": Law(_fallen, _fallen_grid),
    "normal": LAWS["normal"],
    "normal, five times the SD": _transformed(lambda x: 5 * x),
    "lognormal 1": LAWS["skewed"],
    "accuracies near 100 %": _beta(30, 1),
    "accuracies between 0 and 100 %": _beta(2, 0.5),
    "accuracies at both ends": _beta(0.5, 0.5),
    "accuracies near 80 %": _beta(20, 5),
    "accuracies, one seed in ten at chance": Law(
        lambda stream, shape: np.where(
            stream.random(shape) < PART, 100 * stream.beta(100, 900, size=shape), 100 * stream.beta(970, 30, size=shape)
        ),
        lambda: np.sort(
            np.concatenate(
                [
                    100 * scipy.special.betaincinv(a, b, (np.arange(many) + 0.5) / many)
                    for (a, b), many in (((100, 900), GRID // 10), ((970, 30), GRID - GRID // 10))
                ]
            )
        ),
    ),
    "better in 80 % of pairs": _transformed(lambda x: x + np.sqrt(2) * scipy.special.ndtri(0.8)),
    "better in 95 % of pairs": _transformed(lambda x: x + np.sqrt(2) * scipy.special.ndtri(0.95)),
}
"""Name → law."""


@dataclass(frozen=True)
class Case:
    """A number of one or two arms under given laws.

    of: the number and the method of its interval. laws: the law of each arm.
    makes: the runs of all arms, (arms, N) → the ends of the interval, or None. truth: the quantiles of
    all laws → the true value.
    """

    of: str
    laws: Sequence[str]
    makes: Callable[[np.ndarray], Ends]
    truth: Callable[[Sequence[np.ndarray]], float]

    @property
    def words(self) -> str:
        """The laws in words."""
        return " − ".join(self.laws)


def _iqm(grid: np.ndarray) -> float:
    return float(scipy.stats.trim_mean(grid, CUT))


def _wins(grids: Sequence[np.ndarray]) -> float:
    """P(a run of the first law > a run of the second)."""
    ours, theirs = grids
    below = np.searchsorted(theirs, ours, side="left") + np.searchsorted(theirs, ours, side="right")
    return float(below.mean() / (2 * len(theirs)))


def _collapsed(runs: np.ndarray) -> Ends:
    return clopper_pearson(int((runs[0] < BELOW).sum()), len(runs[0]))


def _not_excluded(runs: np.ndarray) -> Ends:
    """Every difference if the permutation test finds none, otherwise a range that holds no number."""
    p = permutation(*runs, replicates=999)
    return (-np.inf, np.inf) if p is not None and p >= LEVEL else (np.nan, np.nan)


def _mean(law: str) -> Case:
    return Case("mean, Student's t", [law], lambda runs: interval(runs[0]).ends, lambda grids: float(grids[0].mean()))


def _iqm_of(law: str) -> Case:
    return Case("iqm, Student's t", [law], lambda runs: interval(runs[0], "iqm").ends, lambda grids: _iqm(grids[0]))


def _within(law: str) -> Case:
    return Case(
        "mean, logit scale if out of range",
        [law],
        lambda runs: interval(runs[0], within=PERCENT).ends,
        lambda grids: float(grids[0].mean()),
    )


def _difference(ours: str, theirs: str) -> Case:
    return Case(
        "difference of means, Student's t",
        [ours, theirs],
        lambda runs: difference(*runs).ends,
        lambda grids: float(grids[0].mean() - grids[1].mean()),
    )


def _difference_within(ours: str, theirs: str) -> Case:
    return Case(
        "difference of means, hybrid on the logit scale if an arm is out of range",
        [ours, theirs],
        lambda runs: difference(*runs, within=PERCENT).ends,
        lambda grids: float(grids[0].mean() - grids[1].mean()),
    )


def _improvement(law: str) -> Case:
    return Case("improvement, Student's t", [law, "normal"], lambda runs: improvement_interval(*runs).ends, _wins)


_COLLAPSES, _LOG, _HUMPS, *_ = FURTHER
_ACCURACIES = [name for name in FURTHER if name.startswith("accuracies")]
_UNBOUNDED = (_COLLAPSES, _LOG, _HUMPS, "heavy tails", "very heavy tails", "two kinds of collapse")
_NEAR_80 = "accuracies near 80 %"
CASES: Sequence[Case] = (
    *(make(law) for law in _UNBOUNDED for make in (_mean, _iqm_of)),
    Case("share of collapsed runs, Clopper–Pearson", [_COLLAPSES], _collapsed, lambda grids: PART),
    *(make(law) for law in _ACCURACIES for make in (_mean, _within)),
    *(
        make(*laws)
        for laws in itertools.pairwise([_NEAR_80, *_ACCURACIES[:3], _NEAR_80])
        for make in (_difference, _difference_within)
    ),
    *(_difference(law, "normal") for law in (_COLLAPSES, _LOG, "lognormal 1", "normal, five times the SD")),
    _difference(_COLLAPSES, _COLLAPSES),
    Case("no difference, permutation test p ≥ 0.05", [_COLLAPSES, _COLLAPSES], _not_excluded, lambda grids: 0.0),
    *(_improvement(f"better in {percent} % of pairs") for percent in (80, 95)),
)
"""All further cases, in the order of the file."""


@dataclass(frozen=True)
class Found:
    """The coverage of a case with N seeds: the fraction of the data sets with an interval; and without: those without.

    coverage is NaN if no data set has an interval.
    """

    of: str
    law: str
    seeds: int
    datasets: int
    without: float
    coverage: float


def covered(case: Case, seeds: int, datasets: int, seed: int) -> Found:
    """Simulates a case.  The runs depend on the seed, the laws and the number of seeds, not on the interval."""
    truth = case.truth([_grid(law) for law in case.laws])
    stream = keyed(seed, "further", case.words, seeds)
    held = looked_at = 0
    for _ in range(datasets):
        runs = np.stack([FURTHER[law].draw(stream, (seeds,)) for law in case.laws])
        ends = case.makes(runs)
        if ends is not None:
            looked_at += 1
            held += ends[0] <= truth <= ends[1]
    coverage = held / looked_at if looked_at else np.nan
    return Found(case.of, case.words, seeds, datasets, 1 - looked_at / datasets, coverage)


@cache
def _grid(law: str) -> np.ndarray:
    return FURTHER[law].grid()
