"""A search as an Optuna study: read by optuna.load_study, and drawn by Optuna's own plots."""

import argparse

import optuna
import pytest
from optuna.trial import TrialState
from optuna.visualization import (
    plot_intermediate_values,
    plot_optimization_history,
    plot_parallel_coordinate,
    plot_param_importances,
    plot_slice,
)

from launch.commands.study import add_arguments, run
from launch.search.loop import Searcher
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.searches.batches import batches_of
from tests.helpers.searches import leave, search

WORDS = (
    "activation=relu,leaky_relu", "optimizer.lr=tag(log,interval(1e-5,1e-1))", "network.width=int(interval(4,64))",
    "optimizer.beta1=choice(0.8,0.9)", "seed=0", "hyperparams.trials=6", "hyperparams.batch=3",
)  # fmt: skip


def command(*words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(words))


def searched(store):
    """A search of two studies. Of the first the first trial was stopped early, and the second failed."""

    def train(runs, settings):
        for number, each in enumerate(runs):
            leave(settings.store, each, 0.5 - each.science["optimizer"]["lr"])
            if number == 0 and not stopped:
                leave(settings.store, each, 0.1, status="stopped", stopped_at_step=90)
                stopped.append(each)
            if number == 1 and len(stopped) == 1:
                leave(settings.store, each, None, status="failed", error="lost")
                stopped.append(each)

    stopped = []
    found = search(*WORDS, f"store={store.root}")
    Searcher(found, train, lambda *_: 8).run()
    return found


def test_each_study_of_a_search_is_an_optuna_study_with_its_trials_and_can_be_drawn(store, tmp_path, capsys):
    found = searched(store)
    path = tmp_path / "study.db"
    command(found.id[:6], "--store", str(store.root), "--out", str(path))
    storage = f"sqlite:///{path}"
    assert "2 studies" in capsys.readouterr().out
    names = optuna.get_all_study_names(storage)
    assert len(names) == 2
    study = optuna.load_study(study_name=next(name for name in names if "leaky" not in name), storage=storage)
    assert study.direction is optuna.study.StudyDirection.MAXIMIZE
    assert study.user_attrs["metric"] == "taoa"
    ours = [trial for batch in batches_of(store, found.id) for trial in batch.trials if trial.study == 0]
    assert [trial.params for trial in study.trials] == [dict(trial.values) for trial in ours]
    assert [trial.user_attrs["runs"] for trial in study.trials] == [trial.runs for trial in ours]
    assert study.trials[0].state is TrialState.PRUNED
    assert study.trials[0].intermediate_values == {90: 0.1}
    assert study.trials[1].state is TrialState.FAIL
    assert all(trial.value == pytest.approx(0.5 - trial.params["optimizer.lr"]) for trial in study.trials[2:])
    distributions = study.trials[0].distributions
    assert distributions["optimizer.lr"] == optuna.distributions.FloatDistribution(1e-5, 1e-1, log=True)
    assert distributions["network.width"] == optuna.distributions.IntDistribution(4, 64)
    assert distributions["optimizer.beta1"] == optuna.distributions.CategoricalDistribution([0.8, 0.9])
    plots = (plot_optimization_history, plot_param_importances, plot_parallel_coordinate, plot_slice)
    assert all(plot(study).data for plot in (*plots, plot_intermediate_values))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def interrupted(runs, settings):
    raise KeyboardInterrupt


def test_what_cannot_be_written_is_a_sentence(store, tmp_path):
    store.prepare()
    with pytest.raises(StoreError, match="no search"):
        command("--store", str(store.root))
    with pytest.raises(KeyboardInterrupt):
        Searcher(search(*WORDS, f"store={store.root}"), interrupted, lambda *_: 8).run()
    there = tmp_path / "there.db"
    there.write_text("mine")
    with pytest.raises(ConfigError):
        command("--out", str(there), "--store", str(store.root))
    assert there.read_text() == "mine"
    command("--store", str(store.root), "--out", str(tmp_path / "study.db"))
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = optuna.load_study(study_name=optuna.get_all_study_names(storage)[0], storage=storage)
    assert [trial.state for trial in study.trials] == [TrialState.RUNNING] * 3, "they have not ended"
