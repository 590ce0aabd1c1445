"""A preset's benchmarks whose data are not here are left out, and one line says which; what was typed is asked for."""

import pytest

from launch.command import run_command
from launch.launchers import local

PRESET = ["experiment=table2", "activation=relu", "seed=0", "schedule=smoke"]


@pytest.fixture
def taken(monkeypatch):
    """What reaches the local launcher, each call as (runs, settings)."""
    calls = []
    monkeypatch.setattr(local, "train_here", lambda runs, settings: calls.append((runs, settings)))
    return calls


@pytest.fixture
def mnist(tmp_path):
    """A folder of data sets that has something of MNIST alone."""
    (tmp_path / "data/MNIST/raw").mkdir(parents=True)
    return [f"data={tmp_path / 'data'}", f"store={tmp_path / 'store'}"]


def trained_on(taken):
    ((runs, _),) = taken
    return [run.science["benchmark"]["name"] for run in runs]


def test_a_preset_trains_what_it_has_the_data_for(taken, mnist, capsys):
    assert run_command([*PRESET, *mnist]) == 0
    assert trained_on(taken) == ["permuted_mnist", "random_label_mnist"]
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "left out" in line]
    assert "random_label_cifar, cifar51, continual_imagenet" in line
    assert "plasticity_lab.data fetch" in line


def test_one_that_was_typed_is_asked_for(taken, mnist, capsys):
    assert run_command([*PRESET, *mnist, "benchmark=permuted_mnist,cifar51"]) == 0
    assert trained_on(taken) == ["permuted_mnist", "cifar51"]
    assert "left out" not in capsys.readouterr().err


def test_a_plan_that_is_only_shown_has_all(taken, mnist, capsys):
    assert run_command([*PRESET, *mnist, "dry_run=true"]) == 0
    assert len(trained_on(taken)) == 5
    assert "left out" not in capsys.readouterr().err


def test_where_nothing_is_here_nothing_is_left_out(taken, tmp_path, capsys):
    assert run_command([*PRESET, f"data={tmp_path}", f"store={tmp_path / 'store'}"]) == 0
    assert len(trained_on(taken)) == 5
    assert "left out" not in capsys.readouterr().err
