import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
from statsmodels.stats.weightstats import ttost_ind

from analysis.statistics.relations import pearson
from analysis.statistics.summaries import mean_sd
from analysis.statistics.two_groups import (
    correction,
    equivalence_of_summaries,
    hedges,
    holm,
    paired,
    welch,
    welch_of_summaries,
)


def test_mean_and_sample_sd_by_hand():
    found = mean_sd([0.7, 0.8, 0.9])
    assert found.mean == pytest.approx(0.8)
    assert found.sd == pytest.approx(0.1)  # ((0.1² + 0 + 0.1²) / 2)^½
    assert found.n == 3


def test_equal_values_have_no_spread_and_one_value_has_no_sd():
    assert mean_sd([0.1, 0.1, 0.1]).sd == 0.0
    assert mean_sd([0.1]).sd is None
    assert (mean_sd([]).mean, mean_sd([]).n) == (None, 0)
    assert mean_sd([0.1, math.nan]).mean is None


def test_welch_against_the_closed_form():
    a, b = [1.0, 2.0, 3.0, 6.0], [4.0, 8.0, 9.0]
    # t = (ā − b̄) / √(s²a/n + s²b/m), Welch–Satterthwaite degrees of freedom, p by the incomplete beta function.
    of_a, of_b = np.var(a, ddof=1) / 4, np.var(b, ddof=1) / 3
    t = (3.0 - 7.0) / math.sqrt(of_a + of_b)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / 3 + of_b**2 / 2)
    p = scipy.special.betainc(freedom / 2, 0.5, freedom / (freedom + t * t))
    found = welch(a, b)
    assert found.t == pytest.approx(t)
    assert found.p == pytest.approx(p)
    assert found.df == pytest.approx(freedom)
    assert found.n == (4, 3)
    assert found.reason is None


def test_welch_is_scipys():
    for seed in range(20):
        draws = np.random.Generator(np.random.Philox(key=seed))
        a, b = draws.normal(50, 2, size=2 + seed % 5), draws.normal(51, 0.1, size=2 + seed % 7)
        theirs = scipy.stats.ttest_ind(a, b, equal_var=False)
        found = welch(a, b)
        assert (found.t, found.p, found.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df), rel=1e-12)


def five(mean, sd):
    """Five values with exactly this mean and SD."""
    return mean + sd * np.array([-1.0, -1.0, 0.0, 1.0, 1.0])


def test_of_printed_means_and_deviations_it_is_the_same_test_as_of_the_values():
    """Four values that vary much and nine that vary little: with one variance for both p would be another."""
    ours, theirs = np.array([0.0, 4.0, 9.0, 1.0]), np.linspace(0.9, 1.3, 9)
    printed = [(float(each.mean()), float(each.std(ddof=1)), len(each)) for each in (ours, theirs)]
    p = welch_of_summaries(*printed)
    assert p == pytest.approx(welch(ours, theirs).p)
    assert p != pytest.approx(scipy.stats.ttest_ind(ours, theirs).pvalue, rel=0.1)
    assert welch_of_summaries((1.0, 0.0, 3), (2.0, 0.0, 3)) is None, "nothing varies"
    assert welch_of_summaries((1.0, 0.5, 1), (2.0, 0.5, 3)) is None, "one value"


@pytest.mark.parametrize("shift", [-3.0, 0.0, 0.4, 1.0, 2.5])
def test_equivalence_is_statsmodels_and_the_90_percent_interval_within_the_margin(shift):
    ours, theirs = np.array([0.0, 4.0, 9.0, 1.0]) / 10, np.linspace(0.9, 1.3, 9) + shift
    printed = [(float(each.mean()), float(each.std(ddof=1)), len(each)) for each in (ours, theirs)]
    p = equivalence_of_summaries(*printed, margin=1.0)
    assert p == pytest.approx(ttost_ind(ours, theirs, -1.0, 1.0, usevar="unequal")[0])
    low, high = scipy.stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.9)
    assert (p < 0.05) == (-1 < low and high < 1)
    assert equivalence_of_summaries((1.0, 0.0, 3), (1.0, 0.0, 3), 1.0) is None, "nothing varies"
    assert equivalence_of_summaries((1.0, 0.5, 1), (1.0, 0.5, 3), 1.0) is None, "one value"


def test_welch_agrees_with_what_the_paper_calls_significant():
    # Rand. Smooth-Leaky against Smooth-Leaky on CIFAR 5+1 (Table 2), and against Bo-PReLU on Random Label CIFAR (G2).
    assert welch(five(57.01, 1.59), five(49.87, 1.67)).significant(0.05)
    assert not welch(five(98.42, 0.01), five(98.41, 0.01)).significant(0.05)


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        ([0.5], [0.2, 0.3], "fewer than two"),
        ([0.1] * 3, [0.2] * 3, "no variance"),
        ([0.1, math.nan, 0.3], [0.2, 0.3], "not finite"),
    ],
)
def test_where_the_test_says_nothing_it_says_why(ours, theirs, reason):
    found = welch(ours, theirs)
    assert found.t is None
    assert found.p is None
    assert reason in found.reason
    assert not found.significant(0.05)
    effect = hedges(ours, theirs)
    assert (effect.g, effect.low, effect.high) == (None, None, None)
    assert effect.reason == found.reason


def test_one_constant_group_still_has_a_p():
    assert 0 < welch([0.1, 0.1, 0.1], [0.2, 0.3, 0.25]).p < 0.05


def test_holm_by_hand():
    # Sorted .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06, .04; the last may not be less than the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_a_test_that_was_not_made_does_not_count_for_holm():
    assert holm([None, 0.01, None, 0.04]) == [None, 0.02, None, 0.04]
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.1, math.nan])


def test_hedges_g_by_hand():
    # Two groups of three, one apart, with a variance of 1: d = 1, with four degrees of freedom.
    found = hedges([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])
    assert correction(4) == pytest.approx(math.sqrt(2 / math.pi))
    assert found.g == pytest.approx(math.sqrt(2 / math.pi))
    assert found.n == (3, 3)
    mirrored = hedges([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    assert (mirrored.g, mirrored.low, mirrored.high) == pytest.approx((-found.g, -found.high, -found.low))


@pytest.mark.parametrize("apart", [0.0, 1e-9, 0.5, 3.0, 4.0, 6.0, 40.0, 500.0])
def test_the_ends_of_the_interval_of_g_make_t_a_quantile(apart):
    found = hedges(five(apart, 1.0), five(0.0, 1.0))
    scale = math.sqrt(2 / 5)
    for end, p in ((found.low, 0.975), (found.high, 0.025)):
        assert scipy.stats.nct.cdf(apart / scale, 8, end / scale) == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize("many", [2, 3, 50])
def test_every_effect_has_an_interval(many):
    spread = np.arange(many) / np.arange(many).std(ddof=1)
    for apart in np.geomspace(1e-3, 1e3, 60):
        for level in (0.8, 0.95, 0.999):
            found = hedges(spread + apart, spread, level)
            assert found.low < found.g / correction(2 * many - 2) < found.high


def test_an_effect_without_bound_has_an_interval_and_ends():
    near, far = (hedges(five(apart, 1.0), five(0.0, 1.0)) for apart in (600.0, 6e7))  # t below and above LARGE
    assert far.low / 6e7 == pytest.approx(near.low / 600, rel=1e-5)
    assert far.high / 6e7 == pytest.approx(near.high / 600, rel=1e-5)


def test_hedges_g_is_without_bias_where_cohens_d_is_not():
    draws = np.random.Generator(np.random.Philox(key=1)).normal(size=(200_000, 2, 3))
    draws[:, 0] += 1.0
    pooled = np.sqrt(draws.var(axis=2, ddof=1).mean(axis=1))
    d = (draws[:, 0].mean(axis=1) - draws[:, 1].mean(axis=1)) / pooled
    assert d.mean() > 1.2
    assert correction(4) * d.mean() == pytest.approx(1.0, abs=0.01)


def test_the_paired_test_is_scipys_and_sees_what_streams_hide():
    stream = np.array([0.50, 0.60, 0.70, 0.80])
    ours, theirs = stream + np.array([0.010, 0.012, 0.011, 0.013]), stream
    found, scipys = paired(ours, theirs), scipy.stats.ttest_rel(ours, theirs)
    assert (found.t, found.p) == pytest.approx((scipys.statistic, scipys.pvalue), rel=1e-12)
    assert found.difference == pytest.approx(0.0115)
    assert found.p < 0.001 < welch(ours, theirs).p
    assert paired([1.0, 2.0], [0.7, 1.7]).reason == "no variance in the differences"
    assert paired([1.0], [0.7]).p is None
    with pytest.raises(ValueError, match="same seeds"):
        paired([1.0, 2.0], [1.0])


def test_pearson_by_hand():
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 5.0]
    found = pearson(x, y)  # Σ(x − 3)(y − 3) = 8 of 10
    assert found.r == pytest.approx(0.8)
    t = 0.8 * math.sqrt(3 / (1 - 0.64))
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(t, 3))
    ends = [math.tanh(math.atanh(0.8) + sign * 1.959963985 / math.sqrt(2)) for sign in (-1, 1)]
    assert [found.low, found.high] == pytest.approx(ends)


def test_pearson_says_why_it_has_no_number():
    assert pearson([1.0, 2.0, 3.0], [3.0, 1.0, 2.0]).low is None
    assert pearson([1.0, 2.0, 3.0], [3.0, 1.0, 2.0]).r == pytest.approx(-0.5)
    assert pearson([1.0, 2.0], [1.0, 2.0]).reason == "fewer than three pairs"
    assert pearson([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]).reason == "no variance in one of the two"
    assert pearson([1.0, math.nan, 1.0], [1.0, 2.0, 3.0]).r is None
