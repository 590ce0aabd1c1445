"""Intervals that cover: by hand, as SciPy and statsmodels have them, and what has none says why."""

import itertools
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from analysis.coverage.simulation import studentised, t_of
from analysis.statistics.interval import difference, improvement_interval, interval
from analysis.statistics.method import BOUNDS_ANEW, HYBRID, LOGIT, PERCENTILE, STUDENT, WHOLE_RUNS, WINSORISED, Method
from analysis.statistics.plasticity_score import Spread, plasticity_scores, spread
from analysis.statistics.student import AGGREGATES
from analysis.statistics.summaries import improvement, iqm, median_score, optimality_gap

NAN, INF = math.nan, math.inf
T_2 = 4.302652729911275
"""The 97.5 % quantile of t with two degrees of freedom."""


def normal(key, *shape):
    return np.random.Generator(np.random.Philox(key=key)).normal(size=shape)


def test_student_of_1_2_3():
    found = interval([1.0, 2.0, 3.0])
    assert found.value == 2
    assert found.ends == pytest.approx((2 - T_2 / math.sqrt(3), 2 + T_2 / math.sqrt(3)))
    assert found.method == STUDENT
    assert found.runs == (3,)


def test_a_trimmed_mean_and_its_winsorised_variance_by_hand():
    # The middle three are 1, 2, 6; winsorised the runs are 1, 1, 2, 6, 6, whose squares about 3.2 add up to 26.8.
    found = interval([0.0, 99.0, 2.0, 6.0, 1.0], "iqm")
    half = T_2 * math.sqrt(26.8 / (3 * 2))
    assert found.value == 3
    assert found.ends == pytest.approx((3 - half, 3 + half))
    assert found.method.name == WINSORISED


def test_two_tasks_by_hand():
    # Means 2 and 20, variances 1 / 3 and 100 / 3 of them; Satterthwaite: (1 + 100)² / (1² + 100²) · 2 = 2.0398.
    found = interval(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]))
    half = scipy.stats.t.ppf(0.975, 2 * 101**2 / 10001) * math.sqrt(101 / 3) / 2
    assert found.ends == pytest.approx((11 - half, 11 + half))
    # As runs that met both: means 5.5, 11, 16.5, with two degrees of freedom.
    whole = interval(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), rows="together")
    assert whole.ends == pytest.approx((11 - T_2 * 5.5 / math.sqrt(3), 11 + T_2 * 5.5 / math.sqrt(3)))
    assert whole.method.name == STUDENT.name + WHOLE_RUNS


def test_of_one_task_they_are_scipys_and_statsmodels():
    ours, theirs = normal(0, 9), normal(1, 12) * 3 + 1
    assert interval(ours).ends == pytest.approx(tuple(scipy.stats.ttest_1samp(ours, 0).confidence_interval(0.95)))
    assert interval(ours).ends == pytest.approx(DescrStatsW(ours).tconfint_mean())
    welch = CompareMeans(DescrStatsW(ours), DescrStatsW(theirs)).tconfint_diff(usevar="unequal")
    assert difference(ours, theirs).ends == pytest.approx(welch)
    yuen = scipy.stats.ttest_ind(ours, theirs, equal_var=False, trim=0.25)
    found = difference(ours, theirs, "iqm")
    half = found.high - found.value
    assert found.value == pytest.approx(scipy.stats.trim_mean(ours, 0.25) - scipy.stats.trim_mean(theirs, 0.25))
    assert half == pytest.approx(scipy.stats.t.ppf(0.975, yuen.df) * found.value / yuen.statistic)
    brunner = scipy.stats.brunnermunzel(theirs, ours)
    better = improvement_interval(ours, theirs)
    for level in (1 - brunner.pvalue - 1e-6, 1 - brunner.pvalue + 1e-6):
        low, high = improvement_interval(ours, theirs, level=level).ends
        assert (low <= 0.5 <= high) == (level > 1 - brunner.pvalue), "its p is where the interval begins to hold 1/2"
    assert better.value == pytest.approx(improvement(ours[:, None], theirs[:, None]))


def test_several_tasks_have_the_values_of_the_aggregates():
    scores = normal(0, 5, 4)
    assert interval(scores, "iqm").value == iqm(scores)
    assert interval(scores, "median").value == pytest.approx(median_score(scores))
    assert interval(scores, "optimality gap").value == pytest.approx(optimality_gap(scores))
    other = normal(1, 6, 4)
    assert improvement_interval(scores, other).value == pytest.approx(improvement(scores, other))


@pytest.mark.parametrize("of", AGGREGATES)
@pytest.mark.parametrize("rows", ["apart", "together"])
def test_an_interval_moves_with_its_runs_and_knows_no_order(of, rows):
    scores = normal(0, 6, 4)
    found = interval(scores, of, rows=rows)
    assert found.low < found.value < found.high
    again = interval(scores[::-1, ::-1], of, rows=rows)
    assert again.ends == pytest.approx(found.ends)
    if of != "optimality gap":
        moved = interval(3 * scores + 5, of, rows=rows)
        assert moved.ends == pytest.approx([3 * end + 5 for end in found.ends])
    assert interval(scores[:, 0], of, rows=rows).ends == pytest.approx(interval(scores[:, :1], of).ends), "one task"


def test_missing_runs_leave_every_task_its_weight():
    assert interval(np.array([[1.0, 10.0], [3.0, NAN], [5.0, 20.0]])).value == (3 + 15) / 2
    # Of 2 + 4 runs a task's weigh 2 each, the other's 1: of 8 a quarter is 2, which 1 and 2 have, and 30 has.
    two = np.array([[10.0, 1.0], [30.0, 2.0], [NAN, 3.0], [NAN, 4.0]])
    assert interval(two, "iqm").value == pytest.approx((3 + 4 + 2 * 10) / 4)
    scores = normal(0, 5, 4)
    padded = np.vstack([scores, np.full((2, 4), NAN)])
    assert interval(padded, "iqm").ends == pytest.approx(interval(scores, "iqm").ends)


@pytest.mark.parametrize(
    ("values", "of", "rows", "value", "why"),
    [
        ([1.0], "mean", "apart", 1.0, "one run"),
        ([[1.0, 2.0], [2.0, NAN]], "mean", "apart", 1.75, "one run"),
        ([1.0, 1.0, 1.0], "mean", "apart", 1.0, "do not differ"),
        ([0.1 + 0.2] * 5, "iqm", "apart", 0.3, "do not differ"),
        ([1.0, INF, -INF], "mean", "apart", None, "2 of 3 values are infinite"),
        ([1.0, 2.0, 3.0, 4.0, INF], "iqm", "apart", None, "1 of 5 values are infinite"),
        ([NAN, NAN], "mean", "apart", None, "no runs"),
        ([[1.0, NAN], [2.0, NAN]], "mean", "apart", None, "1 of 2 tasks"),
        ([[1.0, 5.0], [2.0, 7.0]], "iqm", "apart", 3.5, "fewer than three"),
        ([[1.0, 5.0], [2.0, 7.0], [2.0, NAN]], "mean", "together", None, "lacks a task"),
    ],
)
def test_what_has_no_interval_says_why(values, of, rows, value, why):
    found = interval(np.array(values), of, rows=rows)
    assert found.ends is None
    assert why in found.reason
    assert value is None or found.value == pytest.approx(value)


def test_two_runs_are_wide_and_not_without():
    low, high = interval([1.0, 2.0]).ends
    assert high - low == pytest.approx(scipy.stats.t.ppf(0.975, 1), rel=1e-9), "12.7 times their distance"


def test_the_papers_interval_has_its_reasons_too():
    assert "do not differ" in interval(np.ones((3, 2)), "iqm", PERCENTILE).reason
    assert "one run" in interval([[1.0, 2.0]], "iqm", PERCENTILE).reason
    assert "unequal" in interval([[1.0, 2.0], [2.0, 3.0], [1.0, NAN]], "iqm", PERCENTILE).reason
    scores = normal(0, 5, 4)
    low, high = interval(scores, "iqm", PERCENTILE).ends
    wide = interval(scores, "iqm").ends
    assert wide[0] < low < high < wide[1]
    with pytest.raises(ValueError, match="same tasks"):
        difference(scores, scores[:, :2])


def test_arms_that_never_meet_have_an_improvement_without_interval():
    found = improvement_interval([1.0, 2.0, 3.0], [4.0, 5.0])
    assert (found.value, found.ends) == (0.0, None)
    assert "do not differ" in found.reason


def test_the_studentised_bootstrap_by_all_of_its_replicates():
    runs = np.array([0.0, 1.0, 3.0])
    draws = np.array(list(itertools.product(runs, repeat=3)))[:, :, None]
    t = np.sort(t_of(draws, "mean", runs.mean()))
    # 0, 0, 1: a mean of 1/3, one less than 4/3, with a standard error of 1/3. Three of 27 have none.
    assert t_of(np.array([[[0.0], [0.0], [1.0]]]), "mean", runs.mean()) == pytest.approx([-3.0])
    assert np.isinf(t).sum() == 3
    found = studentised(runs[:, None], "mean", "by hand", replicates=20_000, level=0.5)
    scale = runs.std(ddof=1) / math.sqrt(3)
    first, last = np.quantile(t, [0.25, 0.75], method="inverted_cdf")
    assert found.low == pytest.approx(runs.mean() - last * scale)
    assert found.high == pytest.approx(runs.mean() - first * scale)
    assert "one run alone" in studentised(runs[:, None], "mean", "by hand", replicates=2000).reason


def test_bounds_are_drawn_anew_with_the_runs():
    # ours is 0 and 1 and theirs 2 and 4, 0 and 1 being the least and the greatest return that was drawn. A half of the
    # replicates draws one run of ours twice, which scores 0; of the others ours scores 1/2 by 2 in one of four, by 4 in
    # three: 1/4 and 1/8.
    returns = {"ours": np.array([[[0.0], [1.0]]]), "theirs": np.array([[[2.0], [4.0]]])}
    method = Method(BOUNDS_ANEW.name, replicates=40_000, seed=0)
    found = spread(returns, lambda scores: iqm(scores[:, 0])[:, None], method, percentiles=(0.0, 100.0))
    values, counts = np.unique(found.replicates["ours"], return_counts=True)
    assert values.tolist() == [0.0, 0.125, 0.25]
    assert counts / 40_000 == pytest.approx([1 / 2, 3 / 8, 1 / 8], abs=0.01)
    sd = math.sqrt(3 / 8 / 64 + 1 / 8 / 16 - (3 / 64 + 1 / 32) ** 2)
    assert found.errors("ours") == pytest.approx([sd * math.sqrt(2)], rel=0.02)
    half = scipy.stats.t.ppf(0.975, 1) * found.errors("ours")
    assert found.half_widths("ours", 0.95) == pytest.approx(half)


def test_p_between_scores_by_hand():
    """Replicates of the differences 1, 2, 3 and 4: variance 5 / 3, times 3 / 2 for three runs of the smaller arm."""
    replicates = {"ours": np.array([[3.0], [5.0], [5.0], [9.0]]), "theirs": np.array([[2.0], [3.0], [2.0], [5.0]])}
    found = Spread(replicates, {"ours": 5, "theirs": 3})
    t = 2.5 / math.sqrt(5 / 3 * 3 / 2)
    assert found.p_of("ours", "theirs", np.array([2.5])) == pytest.approx([2 * scipy.stats.t.sf(t, 2)])
    assert found.p_of("theirs", "ours", np.array([-2.5])) == pytest.approx([2 * scipy.stats.t.sf(t, 2)])
    assert np.isnan(Spread(replicates, {"ours": 5, "theirs": 1}).p_of("ours", "theirs", np.array([2.5]))).all()


def test_scores_of_equal_runs_have_no_interval_and_others_stay_between_0_and_1():
    returns = {"flat": np.full((3, 1), 2.0), "wide": np.array([[0.0], [1.0], [5.0]])}
    found = plasticity_scores(returns, percentiles=(0, 100), method=Method(BOUNDS_ANEW.name, replicates=500, seed=0))
    assert found.scores["wide"].ends == (0.0, 1.0), "three runs so far apart say nothing"
    assert found.as_published["flat"].ends is None
    assert "do not differ" in found.as_published["flat"].reason
    one = plasticity_scores({"one": np.array([[1.0]]), "wide": returns["wide"]}).scores["one"]
    assert "one run" in one.reason


def test_equal_seeds_and_names_draw_the_same():
    returns = {name: 100 * normal(key, 5, 4) for key, name in enumerate(("relu", "tanh"))}
    method = Method(BOUNDS_ANEW.name, replicates=300, seed=0)
    first = plasticity_scores(returns, method=method).scores["relu"]
    again = plasticity_scores(dict(reversed(returns.items())), method=method).scores["relu"]
    assert again.ends == pytest.approx(first.ends, rel=1e-12), "in whatever order arms come"
    assert plasticity_scores(returns, method=Method(method.name, replicates=300, seed=1)).scores["relu"] != first


PERCENT = (0.0, 100.0)


@pytest.mark.parametrize("of", ["mean", "iqm"])
@pytest.mark.parametrize("values", [[99.0, 95.0, 45.5], [98.0, 99.0, 99.5], [0.0, 1.0, 100.0], [0.2, 0.0, 0.1, 7.0]])
def test_an_interval_of_shares_that_would_leave_the_range_is_made_on_the_logit_scale(values, of):
    plain, found = interval(values, of), interval(values, of, within=PERCENT)
    assert plain.low < 0 or plain.high > 100
    assert (found.value, found.method.name) == (plain.value, plain.method.name + LOGIT)
    assert 0 < found.low < found.value < found.high < 100
    part = plain.value / 100
    half = (plain.high - plain.value) / 100 / (part * (1 - part))
    middle = scipy.special.logit(part)
    assert found.ends == pytest.approx(tuple(100 * scipy.special.expit([middle - half, middle + half])))
    mirrored = interval([100 - value for value in values], of, within=PERCENT)
    assert mirrored.ends == pytest.approx((100 - found.high, 100 - found.low))
    shares = interval([value / 100 for value in values], of, within=(0.0, 1.0))
    assert shares.ends == pytest.approx(tuple(end / 100 for end in found.ends))


@pytest.mark.parametrize("values", [[50.0, 51.0, 52.0], [99.0, 95.0, 100.1], [100.0, 100.0, 100.0], [99.9]])
def test_any_other_interval_stays_as_it_was(values):
    """Within the range; with a value outside of it, for which the range is wrong; and without an interval."""
    assert interval(values, within=PERCENT) == interval(values)
    assert interval(values, method=PERCENTILE, within=PERCENT) == interval(values, method=PERCENTILE)


def test_a_whole_run_on_two_tasks_stays_within_the_range_too():
    scores = np.array([[99.0, 98.0], [97.0, 99.0], [60.0, 99.5]])
    plain, found = (interval(scores, rows="together", within=within) for within in (None, PERCENT))
    assert plain.high > 100 > found.high
    assert found.method.name == STUDENT.name + WHOLE_RUNS + LOGIT


def test_a_difference_of_shares_near_an_end_is_made_of_both_arms_intervals():
    ours, theirs = [99.0, 95.0, 45.5], [60.0, 61.0, 59.5]
    plain, found = difference(ours, theirs), difference(ours, theirs, within=PERCENT)
    mine, others = interval(ours, within=PERCENT), interval(theirs, within=PERCENT)
    assert (found.value, found.method.name) == (plain.value, plain.method.name + LOGIT + HYBRID)
    assert plain.high > 40.5, "more than 100 − 59.5"
    assert found.low == pytest.approx(found.value - math.hypot(mine.value - mine.low, others.high - others.value))
    assert found.high == pytest.approx(found.value + math.hypot(mine.high - mine.value, others.value - others.low))
    mirrored = difference(theirs, ours, within=PERCENT)
    assert mirrored.ends == pytest.approx((-found.high, -found.low))


@pytest.mark.parametrize("arms", [([70.0, 71.0, 69.0], [60.0, 61.0, 59.5]), ([99.0, 98.0, 60.0], [50.0])])
def test_other_differences_of_shares_stay(arms):
    assert difference(*arms, within=PERCENT) == difference(*arms)
