import itertools

import pytest

from launch.search.new_trials import ASKS, new_trials
from plasticity_lab.records.searches.batches import Trial
from plasticity_lab.records.searches.space import Range, in_random_order, size_of
from tests.helpers.searches import search

LR, WIDTH = "optimizer.lr", "network.width"


@pytest.fixture(scope="module")
def study():
    return search(f"{LR}=0.1,0.01", f"{WIDTH}=int(interval(5,7))", "hyperparams.trials=6", "seed=0").studies[0]


def point(lr, width):
    return {LR: lr, WIDTH: width}


def values(trials):
    return [dict(trial.values) for trial in trials]


def test_proposals_that_repeat_nothing_are_taken_as_they_come(study):
    proposed = [point(0.1, 5), point(0.01, 7), point(0.1, 6), point(0.01, 5)]
    assert values(new_trials(study, 0, [], 3, iter(proposed), "0")) == proposed[:3]


def test_repeats_of_earlier_trials_and_of_the_batch_are_passed_over(study):
    first = new_trials(study, 0, [], 1, iter([point(0.1, 5)]), "0")
    proposed = [point(0.1, 5), point(0.01, 5), point(0.01, 5), point(0.1, 7)]
    assert values(new_trials(study, 0, first, 2, iter(proposed), "0")) == [point(0.01, 5), point(0.1, 7)]


def test_a_refused_trial_is_a_repeat_by_its_values(study):
    refused = Trial(0, point(0.1, 5), [], "no")
    found = new_trials(study, 0, [refused], 6, itertools.repeat(point(0.1, 5)), "0")
    assert len(found) == 5
    assert point(0.1, 5) not in values(found)


def test_a_sampler_that_only_repeats_itself_is_left_after_a_while_for_the_untried_rest_in_an_order_of_the_seed(study):
    def filled(seed):
        asked = itertools.count()
        proposed = (point(0.1, 5) for _ in asked)
        found = values(new_trials(study, 0, [], 9, proposed, seed))
        assert next(asked) <= ASKS * 9 + 1
        return found

    assert filled("0") == filled("0")
    assert len({tuple(filled(str(seed))[1].items()) for seed in range(8)}) > 1
    assert sorted(map(str, filled("0"))) == sorted(str(point(lr, width)) for lr in (0.1, 0.01) for width in (5, 6, 7))


def test_every_combination_of_a_finite_space_comes_once_and_other_spaces_have_no_order():
    space = {"a": [1, True, 1.0, 1, [1, 2]], "b": Range(2, 10, whole=True), "c": Range(0.5, 0.5)}
    assert size_of(space) == 4 * 9
    for seed in "abc":
        assert len({repr(each) for each in in_random_order(space, seed)}) == 36 == len([*in_random_order(space, seed)])
    assert size_of({**space, "d": Range(0, 1)}) is None
    assert not list(in_random_order({**space, "d": Range(0, 1)}, "a"))
    assert len(list(in_random_order({"a": [1]}, "a"))) == 1
