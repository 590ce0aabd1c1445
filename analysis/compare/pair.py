"""Two arms compared: difference, tests, effect size, and the probability that a run of one beats one of the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.compare.arm import Arm
from analysis.compare.scores import Ends, score_matrix
from analysis.statistics.interval import Interval, difference, improvement_interval
from analysis.statistics.student import AGGREGATES, apart
from analysis.statistics.two_groups import Hedges, Paired, Welch, hedges, holm, paired, two_sided, welch


@dataclass(frozen=True)
class Pair:
    """Ours compared with theirs.

    difference: our mean − their mean; values on one benchmark, scores on several. of_iqms: the same for interquartile
    means. test: Welch's test of the means; its interval is `difference`, unless an arm's interval is on the logit
    scale. paired: the paired test, at the `paired.n` seeds that both have. effect: Hedges' g; for several benchmarks,
    the mean of their g. better: the probability that a run of ours is better. holm: Welch's p, corrected for all shown
    pairs.
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

    @property
    def words(self) -> str:
        """Its name in tables and captions."""
        return f"{self.ours} − {self.theirs}"


def on_one(ours: Arm, theirs: Arm, task: str, better: str, within: tuple[float, float] | None = None) -> Pair:
    """Two arms on one benchmark, in the metric's unit.  better: the direction of the metric. within: its range."""
    sign = -1.0 if better == "less" else 1.0
    a, b = (np.array(arm.values(task), dtype=float) for arm in (ours, theirs))
    mine, others = _at_shared_seeds(ours, theirs, task)
    return Pair(
        ours.label,
        theirs.label,
        _explained(difference(a, b, within=within), a, b),
        welch(a, b),
        paired(mine, others) if mine else Paired(0, reason="no seed that both have"),
        hedges(a, b),
        _probability(_explained(improvement_interval(sign * a, sign * b), a, b)),
        _explained(difference(a, b, of="iqm", within=within), a, b),
    )


def on_several(ours: Arm, theirs: Arm, ends: Mapping[str, Ends]) -> Pair:
    """Two arms on several benchmarks, by their scores.

    The tests are Student's of the mean over benchmarks: the variances of the benchmarks add up, with the degrees of
    freedom of Welch and Satterthwaite; on one benchmark they are Welch's and the paired test.
    """
    a, b = (score_matrix(arm, ends) for arm in (ours, theirs))
    differences, effects = [], []
    for task, of in ends.items():
        mine, others = _at_shared_seeds(ours, theirs, task)
        differences.append(of.score(mine) - of.score(others))
        effects.append(hedges(of.score(ours.values(task)), of.score(theirs.values(task))))
    g = [each.g for each in effects if each.g is not None]
    n, lacking = (ours.n, theirs.n), len(effects) - len(g)
    reason = f"none on {lacking} of {len(effects)} benchmarks"
    return Pair(
        ours.label,
        theirs.label,
        difference(a, b),
        _stratified(a, b),
        _stratified_pairs(differences),
        Hedges(n, reason=reason) if lacking else Hedges(n, float(np.mean(g))),
        _probability(improvement_interval(a, b)),
        difference(a, b, of="iqm"),
    )


def corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with Holm's correction of all their tests."""
    return [replace(pair, holm=p) for pair, p in zip(pairs, holm([pair.test.p for pair in pairs]), strict=True)]


def _at_shared_seeds(ours: Arm, theirs: Arm, task: str) -> tuple[list[float], list[float]]:
    """The values of both arms at the seeds that both have, in the same order."""
    mine, others = (
        dict(zip(arm.cells[task].seeds, arm.cells[task].values, strict=True)) if task in arm.cells else {}
        for arm in (ours, theirs)
    )
    seeds = [seed for seed in mine if seed in others]
    return [mine[seed] for seed in seeds], [others[seed] for seed in seeds]


def _explained(found: Interval, ours: np.ndarray, theirs: np.ndarray) -> Interval:
    """With a reason that names arms if one has no run or a single one."""
    fewest = min(len(ours), len(theirs))
    if found.low is None and fewest < 2:
        return replace(found, reason="an arm with one run" if fewest else "an arm without a run")
    return found


def _probability(found: Interval) -> Interval:
    """The interval cut off at 0 and 1: Student's reaches beyond them if runs are few."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def _stratified(ours_NM: np.ndarray, theirs_KM: np.ndarray) -> Welch:
    """Whether two arms have one mean over benchmarks: t = difference / its standard error, as in `difference`."""
    ours, theirs = int(np.isfinite(ours_NM).sum()), int(np.isfinite(theirs_KM).sum())
    n = ours, theirs
    columns = [[values[~np.isnan(values)] for values in arm.T] for arm in (ours_NM, theirs_KM)]
    if reason := _why_not([values for arm in columns for values in arm], "seeds on one"):
        return Welch(n, reason=reason)
    parts = [AGGREGATES["mean"](arm) for arm in columns]
    error = apart(parts)
    if error is None:
        return Welch(n, reason="no variance in either group")
    t = (parts[0].value - parts[1].value) / error.error
    return Welch(n, t, two_sided(t, error.df), error.df)


def _stratified_pairs(differences: Sequence[np.ndarray]) -> Paired:
    """Whether the differences at the same seeds have the mean 0 over benchmarks."""
    n = sum(map(len, differences))
    if reason := _why_not(differences, "seeds that both have on one"):
        return Paired(n, reason=reason)
    part = AGGREGATES["mean"](list(differences))
    error = apart([part])
    if error is None:
        return Paired(n, part.value, reason="no variance in the differences")
    t = part.value / error.error
    return Paired(n, part.value, t, two_sided(t, error.df))


def _why_not(groups: Sequence[np.ndarray], least_of: str) -> str | None:
    """Why the values of each benchmark give no test."""
    if min(map(len, groups), default=0) < 2:
        return f"fewer than two {least_of} of the benchmarks"
    if not all(np.isfinite(values).all() for values in groups):
        return "a value that is not finite"
    return None
