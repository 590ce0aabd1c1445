import pytest

from launch.command import resolve
from plasticity_lab.errors import ConfigError
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to search"),
        (["seed=interval(0,1)"], "is not a list of values"),
        (["benchmark.tasks=1,2"], "the same benchmark"),
        (["hyperparams=search,grid", LR], "cannot be combined"),
        (["hyperparams.sampler=best", LR], "must be tpe or random"),
        (["optimizer.lr=interval(-1,1)"], "optimizer.lr is -1.0; it must be above 0"),
        (["network.width=interval(10,20)"], "must be a whole number"),
        (["activation.negative_slope=interval(0,1)"], "negative_slope"),
        (["optimizer.lr=0.1,0.01,0.001"], "have 3 combinations; give hyperparams.trials=3"),
        (
            ["hyperparams.trials=13", "optimizer.lr=0.1,0.01", "network.width=int(interval(5,10))"],
            "hyperparams.trials=12",
        ),
        (["rerun=true", LR], "rerun=true"),
        (["plan_only=true", LR], "plan_only=true"),
    ],
)
def test_what_cannot_be_searched_is_refused(words, said):
    with pytest.raises(ConfigError, match=said):
        search(*words)
