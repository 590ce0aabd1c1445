import csv
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from analysis.reported import FOLDER
from analysis.statistics.bootstrap import above
from analysis.statistics.method import PERCENTILE
from analysis.statistics.plasticity_score import plasticity_scores
from analysis.statistics.returns import gap_change, gap_summary, gaps, normalise
from analysis.statistics.summaries import improvement, iqm, mean_score, median_score, optimality_gap

# What rliable's own tests look at.
X = [[1, 2], [2, 2], [1, 1], [2, 1]]
Y = [[1, 1], [2, 2], [3, 3]]


def test_the_aggregates_of_rliables_own_tests():
    assert [float(of(X)) for of in (mean_score, median_score, iqm)] == [1.5, 1.5, 1.5]
    assert [float(of(Y)) for of in (mean_score, median_score, iqm)] == [2.0, 2.0, 2.0]
    assert improvement(X, Y) == pytest.approx(1 / 3)
    assert improvement(Y, X) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([[1.0, 2.0, 9.0]], 4.0),  # three: nothing is cut
        ([[-49.38, 0.0, -336.13, -68.68]], -59.03),  # four: the middle two; Rand. Smooth-Leaky's row of Table F3
        ([[124.81, 203.06, 183.00, -287.15]], 153.905),  # ReLU's
        ([[0.0], [1.0], [2.0], [6.0], [99.0]], 3.0),  # five: the middle three
        ([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 800.0]], 4.5),  # eight: the middle four, seeds and environments alike
    ],
)
def test_the_interquartile_mean_by_hand_and_by_scipy(scores, expected):
    assert iqm(scores) == pytest.approx(expected)
    assert iqm(scores) == scipy.stats.trim_mean(scores, 0.25, axis=None)


def test_an_aggregate_of_many_replicates_is_that_of_each():
    scores = np.arange(60.0).reshape(3, 5, 4) ** 2
    for aggregate in (iqm, mean_score, median_score, optimality_gap):
        assert aggregate(scores) == pytest.approx([aggregate(each) for each in scores])
        assert np.isnan(aggregate(np.where(scores == 1, np.nan, scores))).tolist() == [True, False, False]
    with pytest.raises(ValueError, match="axes"):
        iqm([1.0, 2.0])


def test_the_optimality_gap_rewards_nothing_beyond_good():
    assert optimality_gap([[0.5, 1.0], [7.0, 0.1]]) == pytest.approx((0.5 + 0 + 0 + 0.9) / 4)
    assert optimality_gap([[0.5, 3.0]], good=2.0) == pytest.approx(0.75)


def test_a_tie_is_half_an_improvement():
    assert improvement([[1.0]], [[1.0]]) == 0.5
    assert improvement([[1.0, 5.0], [2.0, 5.0]], [[1.0, 4.0]]) == pytest.approx((0.75 + 1.0) / 2)


def test_a_profile_counts_runs_above_each_threshold():
    assert above([[0.1, 0.5], [0.9, 0.5]], [0.0, 0.5, 0.9]).tolist() == [1.0, 0.25, 0.0]


def test_scores_lie_between_percentiles_of_all_runs_and_failures_score_nothing():
    arms = {
        "relu": np.array([[0.0, 10.0], [50.0, 20.0], [100.0, -1e9]]),
        "tanh": np.array([[25.0, np.inf], [75.0, np.nan]]),
    }
    found = normalise(arms, percentiles=(0, 100))
    assert (found.low.tolist(), found.high.tolist()) == ([0.0, -500.0], [100.0, 20.0])
    assert found.scores["relu"].T.tolist() == [[0.0, 0.5, 1.0], [pytest.approx(510 / 520), 1.0, 0.0]]
    assert found.scores["tanh"].tolist() == [[0.25, 0.0], [0.75, 0.0]]


def test_a_score_beyond_the_percentiles_is_cut_off():
    returns = np.arange(101.0)[:, None]
    found = normalise({"all": returns})
    assert (found.low[0], found.high[0]) == (5.0, 95.0)
    assert found.scores["all"][[0, 5, 50, 95, 100], 0].tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]


def test_what_cannot_be_normalised_says_why():
    found = normalise({"relu": np.array([[1.0, 3.0], [2.0, 3.0]])})
    assert found.scores is None
    assert "[1]" in found.reason
    assert normalise({"relu": np.empty((0, 2))}).reason == "no runs"
    for wrong in ({}, {"relu": np.zeros((2, 2)), "tanh": np.zeros((2, 3))}, {"relu": np.zeros(2)}):
        with pytest.raises(ValueError, match="same environments"):
            normalise(wrong)


def test_the_gap_widens_from_the_first_cycle_to_the_last():
    train = np.array([[[100.0, 5.0]], [[0.0, 0.0]], [[90.0, 9.0]]])
    test = np.array([[[80.0, 5.0]], [[7.0, 7.0]], [[30.0, 2.0]]])
    change, failed = gap_change(train, test)
    assert change.tolist() == [[40.0, 7.0]]
    assert not failed.any()


@pytest.mark.parametrize("value", [-500.01, -math.inf, math.nan])
@pytest.mark.parametrize(("cycle", "fails"), [(0, True), (1, False), (2, True)])
def test_a_run_that_failed_in_one_of_the_cycles_compared_has_no_gap(value, cycle, fails):
    train, test = np.full((3, 2, 1), 100.0), np.full((3, 2, 1), 60.0)
    test[2] = 50.0
    test[cycle, 1] = value
    change, failed = gap_change(train, test)
    assert failed.tolist() == [[False], [fails]]
    assert change.tolist() == [[10.0], [0.0 if fails else 10.0]]
    with pytest.raises(ValueError, match="cycles"):
        gap_change(train[:1], test[:1])


def test_the_gap_of_each_cycle_is_0_where_a_return_failed():
    train = np.array([[[100.0, 5.0]], [[90.0, -501.0]]])
    test = np.array([[[80.0, np.nan]], [[95.0, 2.0]]])
    assert gaps(train, test).tolist() == [[[20.0, 0.0]], [[-5.0, 0.0]]]
    with pytest.raises(ValueError, match="1 cycles"):
        gaps(train[0], test[0])


def test_a_gap_is_summed_up_as_the_papers_table_does():
    """Of the means that Table F3 prints its IQM, mean and SD follow; Table 4 has lost a sign."""
    rows = csv.DictReader((FOLDER / "tableF3_gap_delta.csv").read_text().splitlines())
    by_activation = {}
    for row in rows:
        by_activation.setdefault(row["activation"], []).append(row)
    assert len(by_activation) == 17
    for of_one in by_activation.values():
        found = gap_summary(np.array([[float(row["delta_mean"]) for row in of_one]]))
        printed = [float(of_one[0][name]) for name in ("iqm_delta", "mean_delta", "std_delta")]
        assert [found.iqm, found.overall, found.sd] == pytest.approx(printed, abs=0.02)
        assert np.isnan(found.half).all(), "of one seed there is no interval"
    table4 = csv.DictReader((FOLDER / "table4_gap_delta.csv").read_text().splitlines())
    lost = {row["activation"]: float(row["iqm_delta"]) for row in table4}["rand_smooth_leaky"]
    assert lost == 59.03
    assert float(by_activation["rand_smooth_leaky"][0]["iqm_delta"]) == -lost


def test_the_interval_of_a_gap_is_students():
    found = gap_summary(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0], [5.0, 0.0]]))
    assert found.half == pytest.approx([2.776445 * math.sqrt(2.5 / 5), math.nan], rel=1e-6, nan_ok=True)


def test_a_plasticity_score_is_the_iqm_of_normalised_returns_over_all_arms_compared():
    """Two arms of four seeds in two environments: bounds from all eight runs, failures at the floor and scored 0."""
    low = np.array([[0.0, 100.0]] * 3 + [[0.0, -1e30]])
    high = np.array([[10.0, 200.0]] * 4)
    found = plasticity_scores(
        {"low": low, "high": high}, percentiles=(0, 100), method=replace(PERCENTILE, replicates=200)
    )
    assert found.normalised.low.tolist() == [0.0, -500.0]
    assert found.normalised.high.tolist() == [10.0, 200.0]
    assert found.scores["high"].value == 1.0
    # low scores 0, 0, 0, 0 in one environment and 0, 6/7, 6/7, 6/7 in the other: the middle four of eight
    assert found.scores["low"].value == pytest.approx((0 + 0 + 0 + 6 / 7) / 4)
    assert found.scores["low"].low <= found.scores["low"].value <= found.scores["low"].high
    alike = plasticity_scores({"one": np.zeros((2, 2))})
    assert not alike.scores
    assert "do not differ" in alike.normalised.reason
