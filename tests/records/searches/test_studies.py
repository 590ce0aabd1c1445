import json

import pytest

from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.searches.batches import Batch, Trial, write_batch
from plasticity_lab.records.searches.space import Range
from plasticity_lab.records.searches.studies import choices_of, searches_of, studies_of

SPACE = {
    "a.lr": "tag(log,interval(1e-05,0.1))",
    "a.width": "int(interval(4,16))",
    "a.slope": "interval(0.123457,1)",
    "a.kind": [1, True, [1, 2]],
}
VALUES = {"a.lr": 0.001, "a.width": 5, "a.slope": 0.1234567, "a.kind": True}


def written(store, space, *trials):
    about = {"studies": [{"name": "relu", "metric": "taoa", "better": "more", "space": space, "first": []}]}
    store.prepare()
    write_batch(store, "abcdef123456", 0, Batch([Trial(0, values, ["0a1b2c3d4e5f"]) for values in trials], 2, about))


def test_the_space_of_a_study_is_read_as_its_batch_describes_it_and_holds_all_values_that_were_tried(store):
    written(store, SPACE, VALUES)
    assert searches_of(store) == ["abcdef123456"]
    (study,) = studies_of(store, "abcdef123456")
    assert study.space == {
        "a.lr": Range(1e-5, 0.1, log=True),
        "a.width": Range(4, 16, whole=True),
        "a.slope": Range(0.1234567, 1),
        "a.kind": [1, True, [1, 2]],
    }
    assert [dict(trial.values) for trial in study.trials] == [VALUES]


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("a.lr", "tag(log,interval(0,1))", 0.1),
        ("a.lr", "tag(log,interval(1e-5,1))", -1),
        ("a.lr", "interval(1,0)", 1),
        ("a.lr", "interval(0,1e999)", 1),
        ("a.lr", "interval(--,1)", 1),
        ("a.lr", "interval(0,1)", "high"),
        ("a.lr", "os.system", 1),
        ("a.lr", 7, 1),
        ("a.lr", [], 1),
        ("a.lr", [1], 1.0),
        ("a.other", "interval(0,1)", 1),
    ],
)
def test_what_describes_no_space_of_its_trials_is_a_damaged_file(store, name, words, value):
    written(store, {name: words}, {"a.lr": value})
    with pytest.raises(DamagedFile):
        studies_of(store, "abcdef123456")
    path = store.batch("abcdef123456", 0)
    path.write_text(json.dumps({**json.loads(path.read_text()), "about": {}}))
    with pytest.raises(DamagedFile):
        studies_of(store, "abcdef123456")


@pytest.mark.parametrize("run", ["../../secret", 7, ["a"], ""])
def test_a_batch_that_names_runs_by_something_else_than_an_id_is_damaged(store, run):
    about = {"studies": []}
    store.prepare()
    write_batch(store, "abcdef123456", 0, Batch([Trial(0, VALUES, [run])], 2, about))
    with pytest.raises(DamagedFile, match="than an id"):
        studies_of(store, "abcdef123456")


def test_choices_that_optuna_would_take_for_one_or_not_at_all_are_words():
    assert choices_of([0.1, "a", None]) == {"0.1": 0.1, "'a'": "a", "None": None}
    assert choices_of([1, True]) == {"1": "1", "True": "true"}
    assert choices_of([1, [1, 2]]) == {"1": "1", "[1, 2]": "[1, 2]"}
