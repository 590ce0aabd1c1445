"""The simulation: made-up runs from a known distribution, their intervals, and how many intervals contain the truth.

All tasks have the same distribution ("law"), with an SD near 1, so the size of a simulation is one number of runs and
tasks. Tasks with very different distributions are not simulated.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.special
import scipy.stats

from analysis.statistics.bootstrap import REPLICATES, bootstrap, keyed, resampled
from analysis.statistics.interval import Interval, Rows, difference, improvement_interval, interval
from analysis.statistics.method import BOUNDS_ANEW, EFFECT, PERCENTILE, STUDENT, WHOLE_RUNS, Method, family
from analysis.statistics.plasticity_score import plasticity_scores
from analysis.statistics.returns import PERCENTILES
from analysis.statistics.student import AGGREGATES, apart
from analysis.statistics.summaries import CUT, improvement, iqm, mean_score
from analysis.statistics.two_groups import hedges

GRID = 400_001
"""The number of quantiles that represent a law; its aggregates are right to 1e-5."""
HUMPS, PART, SD = (1.0, -1.0), 0.7, 0.3
"""The centres of the two humps, the part of all runs in the first, and the SD of both."""
ARMS = 8
"""The number of arms that give a Plasticity Score its bounds."""


@dataclass(frozen=True)
class Law:
    """A distribution.  draw: a generator and a shape → runs. grid: `GRID` quantiles of the law, ascending."""

    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    grid: Callable[[], np.ndarray]


def _normal_grid() -> np.ndarray:
    return scipy.special.ndtri((np.arange(GRID) + 0.5) / GRID)


def _two_humps(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(stream.random(shape) < PART, *HUMPS) + SD * stream.normal(size=shape)


def _two_humps_grid() -> np.ndarray:
    x = np.linspace(-3, 3, 2 * GRID)
    below = sum(part * scipy.special.ndtr((x - hump) / SD) for hump, part in zip(HUMPS, (PART, 1 - PART), strict=True))
    return np.interp((np.arange(GRID) + 0.5) / GRID, below, x)


LAWS: Mapping[str, Law] = {
    "normal": Law(lambda stream, shape: stream.normal(size=shape), _normal_grid),
    "skewed": Law(lambda stream, shape: np.exp(stream.normal(size=shape)), lambda: np.exp(_normal_grid())),
    "two-humped": Law(_two_humps, _two_humps_grid),
}
"""Normal; lognormal with σ = 1; and a mixture: 70 % of the runs learn, 30 % do not."""


# The intervals: each is computed from the runs of one, two or several arms.

Ends = tuple[float, float] | None
Makes = Callable[[np.ndarray, str, int], list[Ends]]
"""Runs (arms, N, M), a name and replicates → the interval of each number."""
Truth = Callable[[np.ndarray], list[float]]
"""The quantiles of a law → the true value of each number."""


@dataclass(frozen=True)
class Simulated:
    """A kind of interval to simulate.

    of: the number, under the name that captions look up. method: the name of the interval's method. arms: the number of
    arms that it needs. makes: computes the intervals. truth: computes the true values. drawn: whether the method is a
    bootstrap, which takes time. apart: the distance between the first and the last arm, in SDs.
    """

    of: str
    method: str
    arms: int
    makes: Makes
    truth: Truth
    drawn: bool = False
    apart: float = 0.0


def _iqm(values: np.ndarray) -> float:
    return float(scipy.stats.trim_mean(values, CUT))


def _true_scores(arms: int, apart: float = 0.0) -> Truth:
    def truth(grid: np.ndarray) -> list[float]:
        laws = [grid + shift for shift in np.linspace(0, apart, arms)]
        low, high = np.percentile(np.concatenate(laws), PERCENTILES)
        return [_iqm(np.clip((law - low) / (high - low), 0, 1)) for law in laws]

    return truth


def _student(of: str, rows: Rows = "apart") -> Makes:
    return lambda arms, *_: [interval(arms[0], of, rows=rows).ends]


def _percentile(of: str) -> Makes:
    return lambda arms, name, replicates: [
        interval(arms[0], of, replace(PERCENTILE, replicates=replicates), name=name).ends
    ]


def _studentised(of: str) -> Makes:
    return lambda arms, name, replicates: [studentised(arms[0], of, name, replicates).ends]


def _improvement(arms: np.ndarray, name: str, replicates: int) -> list[Ends]:
    return [bootstrap(improvement, *arms, name=name, replicates=replicates).interval]


def _effect(arms: np.ndarray, *_: object) -> list[Ends]:
    """The interval of the first task only, because Hedges' g has no tasks."""
    return [hedges(*arms[:, :, 0]).ends]


def _score(method: str) -> Makes:
    def makes(arms: np.ndarray, name: str, replicates: int) -> list[Ends]:
        made_by = replace(PERCENTILE if method == PERCENTILE.name else BOUNDS_ANEW, replicates=replicates)
        returns = {f"{name} {at}": arm for at, arm in enumerate(arms)}
        scores = plasticity_scores(returns, floor=-np.inf, method=made_by, published=None).scores
        return [score.ends for score in scores.values()]

    return makes


_T, _WHOLE, _DRAWN, _ANEW = STUDENT.name, STUDENT.name + WHOLE_RUNS, PERCENTILE.name, family(BOUNDS_ANEW.name)
_TRUE: Mapping[str, Truth] = {"mean": lambda grid: [float(grid.mean())], "iqm": lambda grid: [_iqm(grid)]}
SIMULATED = (
    *(
        each
        for of, truth in _TRUE.items()
        for each in (
            Simulated(of, _T, 1, _student(of), truth),
            Simulated(of, _WHOLE, 1, _student(of, "together"), truth),
            Simulated(of, _DRAWN, 1, _percentile(of), truth, drawn=True),
            Simulated(of, "studentised bootstrap", 1, _studentised(of), truth, drawn=True),
        )
    ),
    Simulated("median", _T, 1, _student("median"), _TRUE["mean"]),
    Simulated("difference of means", _T, 2, lambda arms, *_: [difference(*arms).ends], lambda grid: [0.0]),
    Simulated("difference of iqms", _T, 2, lambda arms, *_: [difference(*arms, of="iqm").ends], lambda grid: [0.0]),
    Simulated("effect", EFFECT.name, 2, _effect, lambda grid: [0.0]),
    Simulated("improvement", _T, 2, lambda arms, *_: [improvement_interval(*arms).ends], lambda grid: [0.5]),
    Simulated("improvement", _DRAWN, 2, _improvement, lambda grid: [0.5], drawn=True),
    Simulated("score", _ANEW, ARMS, _score(_ANEW), _true_scores(ARMS), drawn=True),
    Simulated("score", _DRAWN, ARMS, _score(_DRAWN), _true_scores(ARMS), drawn=True),
    Simulated("score of 3 arms 3 SDs apart", _ANEW, 3, _score(_ANEW), _true_scores(3, 3.0), True, 3.0),
)
"""All simulated intervals, in the order of the file."""
OF: Mapping[str, tuple[Simulated, ...]] = {
    of: tuple(each for each in SIMULATED if each.of == of) for of in dict.fromkeys(each.of for each in SIMULATED)
}
"""Number → its intervals."""


# One size: many data sets, and how many of their intervals contain the truth.


@dataclass(frozen=True)
class Cell:
    """A number, a law, and a size."""

    of: str
    distribution: str
    seeds: int
    tasks: int


@dataclass(frozen=True)
class Covered:
    """The coverage of a method in a cell.

    looked_at: how many numbers had an interval. without: the fraction of numbers without an interval. coverage: the
    fraction of intervals that contain the truth; NaN if no number had an interval.
    """

    cell: Cell
    method: str
    datasets: int
    looked_at: int
    without: float
    coverage: float


@dataclass(frozen=True)
class Sizes:
    """The size of the simulation of one cell.

    datasets: the number of data sets. few: the number for a bootstrap; a quarter of it if each data set gives several
    numbers. replicates: the number of replicates of a bootstrap. seed: the seed of the simulated runs.
    """

    datasets: int
    few: int
    replicates: int
    seed: int


def simulated(cell: Cell, sizes: Sizes) -> list[Covered]:
    """The coverage of every method of a cell. All methods get the same runs; these depend on the seed and the cell."""
    return [_covered(cell, method, sizes) for method in OF[cell.of]]


def _covered(cell: Cell, method: Simulated, sizes: Sizes) -> Covered:
    truth = method.truth(LAWS[cell.distribution].grid())
    datasets = sizes.datasets if not method.drawn else -(-sizes.few // 4) if len(truth) > 1 else sizes.few
    shifts = np.linspace(0, method.apart, method.arms)[:, None, None]
    held = looked_at = 0
    for at, arms in enumerate(_runs(cell, datasets, method.arms, sizes.seed)):
        for ends, value in zip(method.makes(arms + shifts, f"{sizes.seed} {at}", sizes.replicates), truth, strict=True):
            if ends is not None:
                looked_at += 1
                held += ends[0] <= value <= ends[1]
    total = datasets * len(truth)
    coverage = held / looked_at if looked_at else np.nan
    return Covered(cell, method.method, datasets, looked_at, (total - looked_at) / total, coverage)


def _runs(cell: Cell, datasets: int, arms: int, seed: int) -> Iterator[np.ndarray]:
    """Yields the data sets, each (arms, seeds, tasks)."""
    stream = keyed(seed, "coverage", cell.distribution, cell.seeds, cell.tasks, arms)
    for _ in range(datasets):
        yield LAWS[cell.distribution].draw(stream, (arms, cell.seeds, cell.tasks))


def studentised(
    values_NM: np.ndarray, of: str, name: str, replicates: int = REPLICATES, level: float = 0.95
) -> Interval:
    """The "mean" or the "iqm" of values (N runs, M tasks) with its interval: value − t* s, with quantiles of t*.

    t* = (replicate − value) / its standard error; a replicate without one counts as infinitely far off, to its side.
    With few runs, many replicates draw a single run repeatedly and have no standard error; then the interval has no
    ends. It is here for comparison (docs/pages/reference/coverage.md): `interval` uses Student's t, which draws
    nothing.

    Source: Efron and Tibshirani 1993, chapter 12; strata as in `bootstrap`.
    """
    values = np.asarray(values_NM, dtype=np.float64)
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
