import pytest

from launch.search import next_batch
from launch.search.next_batch import Medians, parts
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.record import new_record, write_metrics, write_record
from plasticity_lab.records.searches.batches import Results, Trial
from tests.helpers.searches import search


def test_a_run_is_compared_after_each_tenth_of_its_tasks():
    assert parts(100) == [9, 19, 29, 39, 49, 59, 69, 79, 89]
    assert parts(25) == [2, 4, 7, 9, 12, 14, 17, 19, 22]
    assert [parts(10), parts(3), parts(1)] == [[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1], []]


def leave(store, run, accuracies, **ended):
    """A record of a run that had these accuracies in its tasks, of 10 steps each."""
    rows = []
    for at, aoa in enumerate(accuracies):
        place = {"kind": "task", "task": at, "epoch": at, "step": 10 * (at + 1)}
        rows.append({**place, "aoa": aoa, "final_accuracy": aoa, "hard": True})
    columns = {name: [row.get(name) for row in rows] for name in CLASSIFIER.schema.names}
    table = CLASSIFIER.schema.empty_table().from_pydict(columns, schema=CLASSIFIER.schema)
    files = {store.metrics(run.id).name: write_metrics(store, run.id, table)}
    summary = CLASSIFIER.summarise(table)
    write_record(store, new_record(run, provenance={}, summary=summary, files=files, **(ended or {"status": "done"})))


@pytest.fixture
def tried(store):
    """A study of two seeds, and trials whose records lie in the store: one for each run of the first seed."""
    study = search("optimizer.lr=interval(0.001,0.1)", "seed=0,1").studies[0]

    def tried(*of_first_seed, last=None):
        trials = []
        for at, accuracies in enumerate(of_first_seed):
            runs = study.runs_of(values := {"optimizer.lr": 0.001 * (at + 1)})
            ended = last if last is not None and at == len(of_first_seed) - 1 else {}
            leave(store, runs[0], accuracies, **ended)
            leave(store, runs[1], [0.9, 0.9, 0.9])
            trials.append(Trial(0, values, [run.id for run in runs]))
        return study, trials

    return tried


def rules(store, study, trials, new):
    return Medians(store, Results(store)).rules(study, trials, new)


def test_a_rule_is_the_median_of_earlier_runs_of_the_same_seed(store, tried):
    study, trials = tried(*([first, 0.5, 0.5] for first in (0.1, 0.2, 0.3, 0.4, 0.5)))
    new = Trial(0, {"optimizer.lr": 0.05}, ["a" * 12, "b" * 12])
    found = rules(store, study, trials, [new, Trial(0, {}, [], "refused")])
    assert found.keys() == {"a" * 12, "b" * 12}
    mine, other = found["a" * 12], found["b" * 12]
    assert (mine.metric, mine.better, mine.tasks) == ("taoa", "more", [0, 1])
    assert mine.values == pytest.approx([0.3, (0.3 + 0.5) / 2])
    assert other.values == pytest.approx([0.9, 0.9])


def test_there_is_no_rule_before_five_runs_are_done(store, tried):
    study, trials = tried(*[[0.1, 0.5, 0.5]] * 5, last={"status": "stopped", "stopped_at_step": 10})
    found = rules(store, study, trials, [Trial(0, {}, ["a" * 12, "b" * 12])])
    assert found.keys() == {"b" * 12}
    assert next_batch.FEWEST == 5
