"""Two arms against each other: difference, tests, effect size, and how often a run of one beats one of the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.compare.arm import Arm
from analysis.compare.scores import Ends, score_matrix
from analysis.statistics.contributions import AGGREGATES
from analysis.statistics.hedges import Hedges, hedges
from analysis.statistics.holm import holm
from analysis.statistics.interval import Interval, difference, improvement_interval
from analysis.statistics.paired import Paired, paired
from analysis.statistics.student import apart, half_width
from analysis.statistics.welch import Welch, welch


@dataclass(frozen=True)
class Pair:
    """Ours compared with theirs.

    difference: ours less theirs, of means: of values on one benchmark, of scores on several; of_iqms: of interquartile
    means. test: Welch's of the means, of which `difference` has the interval; paired: at the seeds that both have, of
    which there are `paired.n`. effect: Hedges' g, over several benchmarks the mean of theirs. better: the probability
    that a run of ours is the better. holm: Welch's p, corrected for all pairs that are shown.
    """

    ours: str
    theirs: str
    difference: Interval
    test: Welch
    paired: Paired
    effect: Hedges
    better: Interval
    of_iqms: Interval
    holm: float | None = None


def on_one(ours: Arm, theirs: Arm, task: str, better: str) -> Pair:
    """Of two arms on one benchmark, in the metric's unit. better: which direction is."""
    sign = -1.0 if better == "less" else 1.0
    a, b = (np.array(_values(arm, task), dtype=float) for arm in (ours, theirs))
    at_seeds = _at_shared_seeds(ours, theirs, task)
    return Pair(
        ours.label,
        theirs.label,
        _explained(difference(a, b), a, b),
        welch(a, b),
        _paired(*at_seeds),
        hedges(a, b),
        _probability(_explained(improvement_interval(sign * a, sign * b), a, b)),
        _explained(difference(a, b, of="iqm"), a, b),
    )


def on_several(ours: Arm, theirs: Arm, ends: Mapping[str, Ends]) -> Pair:
    """Of two arms on several benchmarks, of their scores.

    The tests are Student's of the mean over benchmarks: the variances of the benchmarks add up, with the degrees of
    freedom of Welch and Satterthwaite; on one benchmark they are Welch's and the paired test.
    """
    a, b = (score_matrix(arm, ends) for arm in (ours, theirs))
    pairs = [_at_shared_seeds(ours, theirs, task) for task in ends]
    scored = [ends[task].score(mine) - ends[task].score(other) for task, (mine, other) in zip(ends, pairs, strict=True)]
    effects = [hedges(ends[task].score(_values(ours, task)), ends[task].score(_values(theirs, task))) for task in ends]
    g = [each.g for each in effects if each.g is not None]
    lacking = len(effects) - len(g)
    return Pair(
        ours.label,
        theirs.label,
        difference(a, b),
        _stratified(a, b),
        _stratified_pairs(scored),
        Hedges(
            None if lacking else float(np.mean(g)), None, None, (ours.n, theirs.n),
            f"none on {lacking} of {len(effects)} benchmarks" if lacking else None,
        ),
        _probability(improvement_interval(a, b)),
        difference(a, b, of="iqm"),
    )  # fmt: skip


def corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with Holm's correction of all their tests."""
    return [replace(pair, holm=p) for pair, p in zip(pairs, holm([pair.test.p for pair in pairs]), strict=True)]


def _values(arm: Arm, task: str) -> Sequence[float]:
    return arm.cells[task].values if task in arm.cells else ()


def _at_shared_seeds(ours: Arm, theirs: Arm, task: str) -> tuple[list[float], list[float]]:
    """The values of both at the seeds that both have, in the same order."""
    mine, others = (
        dict(zip(arm.cells[task].seeds, arm.cells[task].values, strict=True)) if task in arm.cells else {}
        for arm in (ours, theirs)
    )
    seeds = [seed for seed in mine if seed in others]
    return [mine[seed] for seed in seeds], [others[seed] for seed in seeds]


def _paired(mine: Sequence[float], others: Sequence[float]) -> Paired:
    if not mine:
        return Paired(None, None, None, None, None, 0, "no seed that both have")
    return paired(mine, others)


def _explained(found: Interval, ours: np.ndarray, theirs: np.ndarray) -> Interval:
    """With a reason that speaks of arms where one has no run or a single one."""
    if found.low is None and min(len(ours), len(theirs)) < 2:
        return replace(
            found, reason="an arm without a run" if not min(len(ours), len(theirs)) else "an arm with one run"
        )
    return found


def _probability(found: Interval) -> Interval:
    """Student's interval of a probability reaches beyond 0 or 1 where runs are few; what cannot be is cut off."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def _stratified(ours_NM: np.ndarray, theirs_KM: np.ndarray) -> Welch:
    """Whether two arms have one mean over benchmarks: t = difference / its standard error, as of `difference`."""
    n = tuple(int(np.isfinite(arm).sum()) for arm in (ours_NM, theirs_KM))
    columns = [[of[~np.isnan(of)] for of in arm.T] for arm in (ours_NM, theirs_KM)]
    least = min((len(of) for arm in columns for of in arm), default=0)
    if least < 2:
        return Welch(None, None, (n[0], n[1]), "fewer than two seeds on one of the benchmarks")
    if not all(np.isfinite(of).all() for arm in columns for of in arm):
        return Welch(None, None, (n[0], n[1]), "a value that is not finite")
    parts = [AGGREGATES["mean"](arm) for arm in columns]
    error = apart(parts)
    if error.error is None or error.df is None:
        return Welch(None, None, (n[0], n[1]), "no variance in either group")
    t = (parts[0].value - parts[1].value) / error.error
    return Welch(t, _two_sided(t, error.df), (n[0], n[1]), df=error.df)


def _stratified_pairs(differences: Sequence[np.ndarray]) -> Paired:
    """Whether the differences at the same seeds have the mean 0 over benchmarks."""
    n = sum(map(len, differences))
    if min(map(len, differences), default=0) < 2:
        return Paired(None, None, None, None, None, n, "fewer than two seeds that both have on one of the benchmarks")
    if not all(np.isfinite(of).all() for of in differences):
        return Paired(None, None, None, None, None, n, "a value that is not finite")
    part = AGGREGATES["mean"](list(differences))
    error = apart([part])
    if error.error is None or error.df is None:
        return Paired(part.value, None, None, None, None, n, "no variance in the differences")
    t, half = part.value / error.error, half_width(error, 0.95)
    return Paired(part.value, part.value - half, part.value + half, t, _two_sided(t, error.df), n)


def _two_sided(t: float, df: float) -> float:
    import scipy.special  # slow to import; see `welch`

    return float(2 * scipy.special.stdtr(df, -abs(t)))
