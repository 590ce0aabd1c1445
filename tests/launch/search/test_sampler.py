import itertools
import sys

import pytest

from launch.search.next_batch import ASKS, ask, new_trials
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.batches import Told, Trial
from plasticity_lab.records.searches.space import Range, in_random_order, size_of
from tests.helpers.searches import search

SPACE = {"lr": Range(1e-5, 1e-1, log=True), "width": Range(4, 64, whole=True), "kind": [[1, 2], "a", True, 1]}


def first(count, *asked):
    return list(itertools.islice(ask(*asked), count))


def told(count, value, better="more"):
    found = []
    for batch in range(count // 8):
        for values in first(8, SPACE, found, better, "tpe", f"0 0 {batch}"):
            found.append(Told(values, "done", value(values)))
    return found


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_what_is_proposed_follows_from_what_was_told_and_the_seed(sampler):
    before = told(16, lambda values: -values["lr"])
    proposed = first(5, SPACE, before, "more", sampler, "0 0 2")
    assert first(5, SPACE, before, "more", sampler, "0 0 2") == proposed
    assert first(5, SPACE, before, "more", sampler, "0 1 2") != proposed
    for values in proposed:
        assert 1e-5 <= values["lr"] <= 1e-1
        assert isinstance(values["width"], int)
        assert repr(values["kind"]) in [repr(kind) for kind in SPACE["kind"]]
    assert len({values["lr"] for values in proposed}) == 5


@pytest.mark.parametrize("better", ["more", "less"])
def test_it_comes_nearer_to_what_is_better(better):
    sign = -1 if better == "less" else 1
    found = told(64, lambda values: sign * -abs(values["width"] - 40), better)
    far = [abs(each.values["width"] - 40) for each in found]
    assert sum(far[-16:]) < sum(far[:16]) / 2


def test_trials_that_were_stopped_count_as_bad_and_failed_ones_as_nothing():
    before = told(16, lambda values: 0.0)
    low = {"lr": 1e-4, "width": 8, "kind": "a"}
    failed = [*before, *[Told(low, "failed")] * 8]
    seed = "0 0 2"
    assert first(3, SPACE, failed, "more", "tpe", seed) == first(3, SPACE, before, "more", "tpe", seed)
    for stopped in (Told(low, "stopped", 0.1, 90), Told(low, "stopped")):
        assert first(3, SPACE, [*before, stopped], "more", "tpe", seed) != first(3, SPACE, before, "more", "tpe", seed)


def test_without_optuna_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install -e '.\[search\]'"):
        first(1, SPACE, [], "more", "tpe", "0")


LR, WIDTH = "optimizer.lr", "network.width"


@pytest.fixture(scope="module")
def study():
    return search(f"{LR}=0.1,0.01", f"{WIDTH}=int(interval(5,7))", "hyperparams.trials=6", "seed=0").studies[0]


def point(lr, width):
    return {LR: lr, WIDTH: width}


def values(trials):
    return [dict(trial.values) for trial in trials]


def test_proposals_are_taken_as_they_come_except_repeats_of_earlier_trials_of_the_batch_and_of_refused_ones(study):
    proposed = [point(0.1, 5), point(0.01, 7), point(0.1, 6), point(0.01, 5)]
    assert values(new_trials(study, 0, [], 3, iter(proposed), "0")) == proposed[:3]
    first = new_trials(study, 0, [], 1, iter([point(0.1, 5)]), "0")
    refused = [Trial(0, point(0.1, 5), [], "no")]
    repeated = [point(0.1, 5), point(0.01, 5), point(0.01, 5), point(0.1, 7)]
    for before in (first, refused):
        assert values(new_trials(study, 0, before, 2, iter(repeated), "0")) == [point(0.01, 5), point(0.1, 7)]


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
