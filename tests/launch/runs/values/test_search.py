"""A search from end to end: a grid is trained, interrupted and resumed, and its winners reported on fresh seeds."""

import pytest

from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import after_looks, all_kept, resolved, runs_of, trained

SEARCH = ("benchmark=permuted_digits", "hyperparams=grid")
FRESH = (100, 101, 102)


def reported(store, activations):
    """Selects and trains → the runs on fresh seeds."""
    words = (f"activation={activations}", "benchmark=permuted_digits", "hyperparams=selected", f"store='{store.root}'")
    words = (*words, f"seed={','.join(map(str, FRESH))}")
    resolved.cache_clear()  # what is selected depends on what is in the store now
    runs = runs_of(*words)
    trained(store, *words)
    return runs


def check(store, activations, runs):
    """Each winner is what the records say is best, and its reports say so too."""
    searched = [read_record(store, run.id) for run in runs_of(f"activation={activations}", *SEARCH)]
    reports = reported(store, activations)
    names = activations.split(",")
    assert [run.science["seed"] for run in reports] == [*FRESH] * len(names)
    for run in reports:
        record = read_record(store, run.id)
        name = record["science"]["activation"]["name"]
        best = max(
            (each for each in searched if each["science"]["activation"]["name"] == name),
            key=lambda each: each["summary"]["taoa"],
        )
        (asked,) = record["asked_as"]
        assert asked["selected_by"]["runs"] == [best["run"]]
        assert asked["selected_by"]["mean"] == best["summary"]["taoa"]
        for group in ("activation", "optimizer"):
            assert record["science"][group] == best["science"][group]
    assert [run.id for run in reported(store, activations)] == [run.id for run in reports]


def test_a_grid_is_trained_and_its_winners_reported(store):
    activations = "relu,rselu"
    plan = trained(store, f"activation={activations}", *SEARCH)
    assert len(plan.runs) == 2 * (1 + 7)
    check(store, activations, plan.runs)


@pytest.mark.slow
def test_a_grid_with_equal_functions_is_interrupted_and_resumed(store, tmp_path):
    words = ("activation=relu,smooth_leaky,bo_prelu", *SEARCH)
    whole = Store(tmp_path / "whole")
    assert len(trained(whole, *words).runs) == 2 * (1 + 49 * 7 + 18)
    first = trained(store, *words, stop=after_looks(60))
    done = [run for run in first.runs if read_record(store, run) is not None]
    assert 0 < len(done) < len(first.runs)
    trained(store, *words)
    assert all_kept(store, runs_of(*words)) == all_kept(whole, runs_of(*words))
    check(store, "relu,smooth_leaky,bo_prelu", first.runs)
