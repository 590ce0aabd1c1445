import pytest

from plasticity_lab.records.searches.batches import Results, Told, Trial
from tests.helpers.searches import leave, search

VALUES = {"optimizer.lr": 0.01}


@pytest.fixture
def told(store):
    """What a trial of two seeds comes to, by what is left of each of its runs."""
    runs = search("optimizer.lr=interval(0.001,0.1)", "seed=0,1").studies[0].runs_of(VALUES)
    trial = Trial(0, VALUES, [run.id for run in runs])

    def told(*left):
        for run, (value, ended) in zip(runs, left, strict=True):
            leave(store.root, run, value, **ended)
        return Results(store).told(trial, "taoa")

    return told


STOPPED = {"status": "stopped", "stopped_at_step": 90}


@pytest.mark.parametrize(
    ("left", "meant"),
    [
        ([(0.5, {}), (0.7, {})], Told(VALUES, "done", 0.6)),
        ([(0.5, {}), (0.3, STOPPED)], Told(VALUES, "stopped", 0.3, 90)),
        ([(0.2, {**STOPPED, "stopped_at_step": 180}), (0.3, STOPPED)], Told(VALUES, "stopped", 0.25, 90)),
        ([(None, {}), (0.3, STOPPED)], Told(VALUES, "stopped")),
        ([(None, {}), (0.9, {})], Told(VALUES, "stopped")),
        ([(None, {"status": "failed", "error": "lost"}), (0.9, {})], Told(VALUES, "failed")),
    ],
)
def test_a_trial_is_the_mean_of_its_seeds_where_all_have_ended_well(told, left, meant):
    found = told(*left)
    assert (found.state, found.step) == (meant.state, meant.step)
    assert found.value == pytest.approx(meant.value)


def test_one_whose_values_were_refused_says_nothing(store):
    assert Results(store).told(Trial(0, VALUES, [], "no such value"), "taoa") == Told(VALUES, "failed")
