import itertools
import sys

import pytest

from launch.search.sampler import ask
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.results import Told
from plasticity_lab.records.searches.space import Range

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
