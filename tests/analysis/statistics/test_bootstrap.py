"""Intervals: the same from the same seed, of a bounded size, and as often right as theory says."""

import math

import numpy as np
import pytest
import scipy.stats

from analysis.statistics import bootstrap as module
from analysis.statistics.bootstrap import bootstrap, profile, resampled
from analysis.statistics.summaries import improvement, iqm, mean_score


def normal(key, *shape):
    return np.random.Generator(np.random.Philox(key=key)).normal(size=shape)


def interval(*scores, name="relu", aggregate=iqm, **what):
    found = bootstrap(aggregate, *scores, name=name, replicates=2000, **what)
    return found.low, found.high


def test_an_interval_is_a_function_of_scores_seed_and_name():
    scores = normal(0, 5, 4)
    assert interval(scores) == interval(scores)
    assert interval(scores) != interval(scores, name="tanh")
    assert interval(scores) != interval(scores, seed=1)
    # This very one, so that nobody moves published intervals unseen: another block size would, or another hash.
    assert interval(scores) == pytest.approx((-0.6164002750910108, 0.26619400472278276), abs=1e-12)


def test_every_environment_is_a_stratum():
    scores = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    (block,) = (arms[0] for arms in resampled([scores], "relu", 500))
    assert block.shape == (500, 3, 2)
    assert set(np.unique(block[..., 0])) == {1.0, 2.0, 3.0}
    assert set(np.unique(block[..., 1])) == {10.0, 20.0, 30.0}
    assert (block[..., 1] != 10 * block[..., 0]).any(), "the seeds of one environment are drawn apart from another's"


def test_large_scores_are_drawn_in_blocks_that_add_up(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 100)
    blocks = [arms[0] for arms in resampled([normal(0, 5, 4)], "relu", 23)]
    assert [len(block) for block in blocks] == [5, 5, 5, 5, 3]
    assert not np.array_equal(blocks[0], blocks[1])


def test_where_there_is_nothing_to_draw_from_it_says_so():
    found = bootstrap(iqm, [[1.0, 2.0, 3.0]], name="relu")
    assert (found.value, found.low, found.high) == (2.0, None, None)
    assert "one seed" in found.reason
    found = bootstrap(iqm, [[1.0, math.nan], [1.0, 2.0]], name="relu")
    assert (found.value, found.low) == (None, None)
    assert "not finite" in found.reason
    with pytest.raises(ValueError, match="seeds, environments"):
        bootstrap(iqm, [1.0, 2.0], name="relu")
    with pytest.raises(ValueError, match="same environments"):
        bootstrap(improvement, normal(0, 5, 4), normal(0, 5, 3), name="relu")


def test_profiles_and_improvement_have_intervals():
    ours, theirs = normal(0, 5, 4) + 1.0, normal(1, 6, 4)
    found = profile(ours, np.linspace(-1, 3, 9), name="relu", replicates=2000)
    assert found.value.shape == found.low.shape == found.high.shape == (9,)
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    better = bootstrap(improvement, ours, theirs, name="relu over tanh", replicates=2000)
    assert better.low < better.value == improvement(ours, theirs) < better.high


def coverage(aggregate, seeds, datasets, replicates):
    """How often the interval of made-up normal scores, in 4 environments, holds their true aggregate: 0."""
    inside = 0
    for dataset in range(datasets):
        scores = normal(dataset, seeds, 4)
        found = bootstrap(aggregate, scores, name=f"data {dataset}", replicates=replicates)
        inside += found.low <= 0 <= found.high
    return inside / datasets


def expected(seeds):
    """How often that of the mean should: t with 4 (n − 1) degrees of freedom, whose SD is short by √((n − 1) / n)."""
    reach = scipy.stats.norm.ppf(0.975) * math.sqrt((seeds - 1) / seeds)
    return 1 - 2 * scipy.stats.t.sf(reach, 4 * (seeds - 1))


def test_intervals_hold_the_truth_as_often_as_theory_says():
    assert expected(5) == pytest.approx(0.901, abs=1e-3)
    assert coverage(mean_score, seeds=5, datasets=400, replicates=500) == pytest.approx(expected(5), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [5, 20])
def test_intervals_hold_the_truth_as_often_as_theory_says_to_a_percent(seeds):
    assert coverage(mean_score, seeds, datasets=4000, replicates=2000) == pytest.approx(expected(seeds), abs=0.015)
    assert coverage(iqm, seeds, datasets=4000, replicates=2000) == pytest.approx(expected(seeds), abs=0.03)
