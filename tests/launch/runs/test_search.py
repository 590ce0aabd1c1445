import pytest

from launch.command import resolve
from launch.runs.desk import Misfit
from plasticity_lab.records.searches.space import Range
from tests.helpers.searches import search

LR = "optimizer.lr=tag(log,interval(1e-5,1e-2))"


@pytest.mark.sample(1)
def test_each_combination_of_choices_is_a_study_and_a_trial_has_a_run_for_each_seed():
    found = search("activation=relu,leaky_relu", LR, "optimizer.beta1=choice(0.8,0.9)", "seed=0,3")
    assert [study.name for study in found.studies] == ["relu · permuted_digits", "leaky_relu · permuted_digits"]
    study = found.studies[1]
    assert study.space == {"optimizer.lr": Range(1e-5, 1e-2, log=True), "optimizer.beta1": [0.8, 0.9]}
    assert (study.seeds, study.measure.name, study.measure.better) == (2, "taoa", "more")
    values = {"optimizer.lr": 0.002, "optimizer.beta1": 0.8}
    typed = resolve(["activation=leaky_relu", "optimizer.lr=0.002", "optimizer.beta1=0.8", "seed=0,3"]).runs
    assert [run.id for run in study.runs_of(values)] == [run.id for run in typed]
    assert [run.asked_as[0]["hyperparams"] for run in study.runs_of(values)] == ["search", "search"]


@pytest.mark.sample(1)
def test_a_search_goes_on_without_choices_that_do_not_go_together():
    found = search("intervention=none,reset_experts", LR)
    assert [study.name for study in found.studies] == ["relu · permuted_digits · none"]
    assert any("Left out of the search: intervention=reset_experts does not go with" in note for note in found.notes)
    with pytest.raises(Misfit, match="intervention=reset_experts does not go with head=flatten"):
        search("intervention=reset_experts", LR)


@pytest.mark.sample(1)
def test_a_search_is_the_same_with_more_trials_and_another_one_where_it_would_try_others():
    same = search(LR).id
    assert search(LR, "hyperparams.trials=99", "hyperparams.batch=3", "store=elsewhere").id == same
    others = [
        (LR, "hyperparams.sampler_seed=1"),
        (LR, "hyperparams.sampler=random"),
        (LR, "hyperparams.early_stopping=none"),
        (LR, "hyperparams.metric=final_accuracy"),
        (LR, "seed=1"),
        (LR, "network.width=50"),
        (LR, "activation=relu,leaky_relu"),
        ("optimizer.lr=interval(1e-5,1e-2)",),
    ]
    assert len({same, *(search(*words).id for words in others)}) == 1 + len(others)
