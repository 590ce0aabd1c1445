import math

import numpy as np
import pytest

from analysis.statistics.selection import best_setting, selection_bias


def test_settings_are_compared_on_the_seeds_that_compare_the_most_runs():
    found = best_setting({"a": {0: 0.5, 1: 0.5}, "b": {0: 0.4, 1: 0.7}, "lucky": {0: 0.9}})
    assert (found.setting, found.mean, found.seeds) == ("b", 0.55, [0, 1])
    assert (found.settings, found.left_out) == (2, 1)


@pytest.mark.parametrize("lost", [None, math.nan, math.inf])
def test_a_setting_that_lost_a_run_cannot_win(lost):
    found = best_setting({"a": {0: 0.5, 1: 0.5}, "b": {0: 0.9, 1: lost}})
    assert (found.setting, found.settings) == ("a", 2)
    assert best_setting({"b": {0: lost}}) is None
    assert best_setting({}) is None


def test_chosen_on_one_half_and_reported_on_the_other_by_hand():
    # Seed 0 chooses the first setting, which has 0 at seed 1; seed 1 chooses the second, which has 0.2 at seed 0.
    found = selection_bias([[1.0, 0.0], [0.2, 0.5]], name="relu")
    assert (found.chosen, found.as_published) == (0, 0.5)
    assert found.honest == pytest.approx(0.1)
    assert found.bias == pytest.approx(0.4)
    assert (found.agreement, found.splits, found.settings, found.seeds) == (0.5, 2, 2, 2)


def test_where_less_is_better_a_bias_that_flatters_is_more_than_nothing_too():
    more = selection_bias([[1.0, 0.0], [0.2, 0.5]], name="relu")
    less = selection_bias([[-1.0, 0.0], [-0.2, -0.5]], name="relu", better="less")
    assert (less.chosen, less.as_published, less.honest, less.bias) == (0, -0.5, -more.honest, more.bias)


def test_of_settings_that_are_all_the_same_the_best_is_luck():
    grids = np.random.Generator(np.random.Philox(key=0)).normal(size=(300, 20, 5))
    found = [selection_bias(grid, name="relu") for grid in grids]
    assert {each.splits for each in found} == {10}
    # The greatest of 20 normal means lies 1.867 of their SDs above the truth, 0.
    assert np.mean([each.as_published for each in found]) == pytest.approx(1.867 / math.sqrt(5), abs=0.06)
    assert np.mean([each.honest for each in found]) == pytest.approx(0.0, abs=0.06)


def test_a_setting_that_is_the_best_everywhere_has_no_bias():
    found = selection_bias([[0.9, 0.9, 0.9], [0.1, 0.2, 0.3]], name="relu")
    assert (found.bias, found.agreement) == (pytest.approx(0.0), 1.0)


def test_many_seeds_are_split_by_draws_that_repeat():
    values = np.random.Generator(np.random.Philox(key=0)).normal(size=(6, 20))
    first, again, other = (selection_bias(values, name=name) for name in ("relu", "relu", "tanh"))
    assert first.splits == 1000
    assert first == again
    assert first.honest != other.honest
    assert first.honest == pytest.approx(other.honest, abs=0.05)


def test_what_diverged_is_left_out_and_nothing_comes_of_nothing():
    found = selection_bias([[math.nan, 9.0], [0.5, 0.6]], name="relu")
    assert (found.chosen, found.left_out, found.settings) == (1, 1, 1)
    assert selection_bias([[math.nan, 9.0]], name="relu").reason == "no setting with a value at every seed"
    assert selection_bias([[1.0], [2.0]], name="relu").reason == "fewer than two seeds"
    with pytest.raises(ValueError, match="settings, seeds"):
        selection_bias([1.0, 2.0], name="relu")
