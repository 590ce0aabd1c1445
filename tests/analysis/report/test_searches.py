"""The searches of a store in its report."""

import json
import sys

import pytest

from analysis.report.sections import FEWEST, search_sections
from plasticity_lab.records.record import write_record
from plasticity_lab.records.searches.batches import Batch, Trial, write_batch
from plasticity_lab.records.store import Store

SPACE = {"optimizer.lr": "tag(log,interval(1e-05,0.1))", "activation.kind": ["<b>a</b>", [1, 2]]}
ABOUT = {"studies": [{"name": "relu <i>", "metric": "taoa", "better": "more", "space": SPACE, "first": []}]}


@pytest.fixture
def searched(tmp_path, record):
    """A store with a search of trials with these values of the metric, None where a run has no record yet → it."""

    def searched(*values):
        store, trials = Store(tmp_path / "store"), []
        store.prepare()
        for number, value in enumerate(values):
            run = record("relu", seed=number)
            if value is not None:
                write_record(store, {**run, "summary": {**run["summary"], "taoa": value}, "files": {}})
            tried = {"optimizer.lr": 10 ** -(1 + number % 5), "activation.kind": SPACE["activation.kind"][number % 2]}
            trials.append(Trial(0, tried, [run["run"]]))
        write_batch(store, "abcdef012345", 0, Batch(trials, len(values), ABOUT))
        return store, [run for trial in trials for run in trial.runs]

    return searched


def test_a_search_has_three_charts_that_say_what_optuna_says(searched):
    store, runs = searched(0.5, 0.7, 0.2, 0.9, None, 0.1)
    told = []
    (section,) = search_sections([store.root], runs, told.append)
    assert told == []
    assert "abcdef012345" in section.title
    (figure,) = section.figures
    history, importances, parallel = figure.charts
    assert history["data"][0]["y"] == [0.5, 0.7, 0.2, 0.9, 0.1]
    assert sorted(importances["data"][0]["y"]) == ["activation.kind", "optimizer.lr"]
    names = ("taoa", "activation.kind", "optimizer.lr")
    assert all(json.dumps(name) in json.dumps(parallel) for name in names)
    assert all("text" in chart["layout"]["xaxis"]["title"] for chart in figure.charts), "the page reads it"
    assert all(chart["layout"]["title"]["text"] and chart["layout"]["height"] for chart in figure.charts)
    assert "<b>" not in json.dumps(figure.charts)
    assert any("5 complete" in sentence and "1 not ended" in sentence for sentence in figure.caption)


def test_a_search_without_enough_trials_or_of_other_runs_has_no_charts(searched):
    store, runs = searched(0.5, *[None] * FEWEST)
    (section,) = search_sections([store.root], runs, list().append)
    assert section.figures[0].charts == []
    assert search_sections([store.root], ["another"], list().append) == []


def test_without_optuna_it_says_how_to_get_it_and_a_damaged_search_is_named(searched, monkeypatch):
    store, runs = searched(0.5, 0.7)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "optuna", None)
        (section,) = search_sections([store.root], runs, list().append)
    assert section.figures[0].charts == []
    assert any("pip install -e '.[search,report]'" in sentence for sentence in section.figures[0].caption)
    path = store.batch("abcdef012345", 0)
    path.write_text(path.read_text().replace("tag(log", "tag(lag"))
    told = []
    assert search_sections([store.root], runs, told.append) == []
    assert len(told) == 1
    assert str(path) in told[0]
