"""The intervals that are simulated: each from runs of one arm, of two, or of several to what it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.stats

from analysis.statistics.bootstrap import bootstrap
from analysis.statistics.covered import family
from analysis.statistics.hedges import hedges
from analysis.statistics.improvement import improvement
from analysis.statistics.interval import difference, improvement_interval, interval
from analysis.statistics.iqm import CUT
from analysis.statistics.method import BOUNDS_ANEW, EFFECT, PERCENTILE, STUDENT, WHOLE_RUNS
from analysis.statistics.normalise import PERCENTILES
from analysis.statistics.plasticity_score import plasticity_scores
from analysis.statistics.studentised import studentised

ARMS = 8
"""Whose runs together give a Plasticity Score its bounds."""
Ends = tuple[float, float] | None
Makes = Callable[[np.ndarray, str, int], list[Ends]]
"""Runs (arms, N, M), a name and replicates → the interval of each number that is looked at."""


@dataclass(frozen=True)
class Simulated:
    """of: as captions look it up. method: by what. arms: how many it needs. truth: of a law's quantiles. drawn: whether
    it draws, and takes time. apart: by how many SDs the first and the last of its arms lie apart.
    """

    of: str
    method: str
    arms: int
    makes: Makes
    truth: Callable[[np.ndarray, float], list[float]]
    drawn: bool = False
    apart: float = 0.0


def _mean(grid: np.ndarray, apart: float) -> list[float]:
    return [float(grid.mean())]


def _iqm(grid: np.ndarray, apart: float) -> list[float]:
    return [float(scipy.stats.trim_mean(grid, CUT))]


def _scores(arms: int) -> Callable[[np.ndarray, float], list[float]]:
    def truth(grid: np.ndarray, apart: float) -> list[float]:
        laws = [grid + shift for shift in np.linspace(0, apart, arms)]
        low, high = np.percentile(np.concatenate(laws), PERCENTILES)
        return [float(scipy.stats.trim_mean(np.clip((law - low) / (high - low), 0, 1), CUT)) for law in laws]

    return truth


def _of_one(of: str, rows: str = "apart") -> Makes:
    return lambda arms, name, replicates: [interval(arms[0], of, rows=rows).ends]  # pyright: ignore[reportArgumentType]


def _by_percentiles(of: str) -> Makes:
    def makes(arms: np.ndarray, name: str, replicates: int) -> list[Ends]:
        return [interval(arms[0], of, replace(PERCENTILE, replicates=replicates), name=name).ends]

    return makes


def _studentised(of: str) -> Makes:
    def makes(arms: np.ndarray, name: str, replicates: int) -> list[Ends]:
        found = studentised(arms[0], of, name, replicates)
        return [None if found.low is None or found.high is None else (found.low, found.high)]

    return makes


def _improvement(arms: np.ndarray, name: str, replicates: int) -> list[Ends]:
    return [bootstrap(improvement, *arms, name=name, replicates=replicates).interval]


def _effect(arms: np.ndarray, name: str, replicates: int) -> list[Ends]:
    """Of the first task alone, as Hedges' g has no tasks."""
    found = hedges(*arms[:, :, 0])
    return [None if found.low is None or found.high is None else (found.low, found.high)]


def _score(published: bool) -> Makes:
    def makes(arms: np.ndarray, name: str, replicates: int) -> list[Ends]:
        method = replace(PERCENTILE if published else BOUNDS_ANEW, replicates=replicates)
        returns = {f"{name} {at}": arm for at, arm in enumerate(arms)}
        scores = plasticity_scores(returns, floor=-np.inf, method=method, published=None).scores
        return [score.ends for score in scores.values()]

    return makes


def _half(grid: np.ndarray, apart: float) -> list[float]:
    return [0.5]


def _nothing(grid: np.ndarray, apart: float) -> list[float]:
    return [0.0]


_T, _WHOLE, _DRAWN = STUDENT.name, STUDENT.name + WHOLE_RUNS, PERCENTILE.name
SIMULATED = (
    *(
        each
        for of, truth in {"mean": _mean, "iqm": _iqm}.items()
        for each in (
            Simulated(of, _T, 1, _of_one(of), truth),
            Simulated(of, _WHOLE, 1, _of_one(of, "together"), truth),
            Simulated(of, _DRAWN, 1, _by_percentiles(of), truth, drawn=True),
            Simulated(of, "studentised bootstrap", 1, _studentised(of), truth, drawn=True),
        )
    ),
    Simulated("median", _T, 1, _of_one("median"), _mean),
    Simulated("difference of means", _T, 2, lambda arms, *_: [difference(*arms).ends], _nothing),
    Simulated("difference of iqms", _T, 2, lambda arms, *_: [difference(*arms, of="iqm").ends], _nothing),
    Simulated("effect", EFFECT.name, 2, _effect, _nothing),
    Simulated("improvement", _T, 2, lambda arms, *_: [improvement_interval(*arms).ends], _half),
    Simulated("improvement", _DRAWN, 2, _improvement, _half, drawn=True),
    Simulated("score", family(BOUNDS_ANEW.name), ARMS, _score(False), _scores(ARMS), drawn=True),
    Simulated("score", _DRAWN, ARMS, _score(True), _scores(ARMS), drawn=True),
    Simulated("score of 3 arms 3 SDs apart", family(BOUNDS_ANEW.name), 3, _score(False), _scores(3), True, 3.0),
)
"""All of them, in the order of the file."""
OF: Mapping[str, tuple[Simulated, ...]] = {
    of: tuple(each for each in SIMULATED if each.of == of) for of in dict.fromkeys(each.of for each in SIMULATED)
}
"""What they are of → by which methods."""
