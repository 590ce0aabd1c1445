import argparse
import importlib
import pkgutil

import pytest

from analysis.__main__ import COMMANDS
from launch import commands
from launch.__main__ import main
from launch.command import run_command
from launch.launchers import local


@pytest.fixture
def taken(monkeypatch, tmp_path):
    """What reaches the local launcher, each call as (runs, settings); the working folder is an empty one."""
    calls = []
    monkeypatch.setattr(local, "train_here", lambda runs, settings, of=None: calls.append((runs, settings)))
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.delenv("PLASTICITY_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    return calls


@pytest.mark.parametrize("flags", [[], ["-m"], ["--multirun"]])
def test_our_launcher_gets_all_runs_at_once(taken, tmp_path, flags):
    assert run_command(["activation=relu,leaky_relu", *flags, "seed=0,1", "dry_run=true", "benchmark.tasks=2"]) == 0
    ((runs, settings),) = taken
    assert [(run.name("activation"), run.science["seed"]) for run in runs] == [
        (name, seed) for name in ("relu", "leaky_relu") for seed in (0, 1)
    ]
    assert settings.dry_run
    assert settings.store == tmp_path / "store"
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_is_planned_before_its_data_are_there(tmp_path, capsys):
    words = ["benchmark=cifar51", f"data={tmp_path / 'none'}", f"store={tmp_path / 'store'}"]
    assert run_command([*words, "dry_run=true"]) == 0
    told = capsys.readouterr()
    assert told.err.count("run `python -m plasticity_lab.data fetch cifar100 --folder") == 1
    assert "23,400" in told.out
    assert run_command(words) == 1
    assert "run `python -m plasticity_lab.data fetch cifar100 --folder" in capsys.readouterr().err.splitlines()[-1]
    assert not list(tmp_path.rglob("plan.json"))


def test_a_launcher_of_hydras_own_gets_them_one_by_one(taken, tmp_path, monkeypatch):
    words = ["activation=leaky_relu", "hyperparams=best", "seed=0,1", "schedule=demo", "mode=eager", "tracking=store"]
    words += [f"store={tmp_path}/store"]
    monkeypatch.setattr(local, "say_how_jobs_ended", lambda runs, settings: None)
    assert run_command(words) == 0
    assert run_command([*words, "hydra/launcher=basic"]) == 0
    (together, settings), *alone = taken
    assert [run for runs, _ in alone for run in runs] == together
    assert [each for _, each in alone] == [settings, settings]
    assert together[0].asked_as[0]["hyperparams"] == "best"
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert len(list(tmp_path.glob("store/sweeps/*/plan.json"))) == 1


@pytest.mark.parametrize("launcher", ["basic", "submitit_local", "submitit_slurm"])
def test_a_plan_that_is_only_shown_starts_no_job_of_any_launcher(taken, capsys, tmp_path, launcher):
    assert run_command(["seed=0,1", "dry_run=true", "tracking=store", f"hydra/launcher={launcher}"]) == 0
    out, err = capsys.readouterr()
    assert "2 runs to train in 2 packs" in out
    assert "2 jobs" in err
    assert launcher in err
    assert taken == []
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_that_cannot_start_jobs_is_named_in_a_sentence(taken, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["seed=0,1", "tracking=store", "mode=eager", f"store={tmp_path}/store", "hydra/launcher=submitit_slurm"]
    assert run_command(words) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "hydra/launcher=submitit_slurm" in last
    assert taken == []


PRESET = ["experiment=table2", "activation=relu", "seed=0", "schedule=smoke"]


@pytest.fixture
def mnist(tmp_path):
    """A folder of data sets that has something of MNIST alone."""
    (tmp_path / "data/MNIST/raw").mkdir(parents=True)
    return [f"data={tmp_path / 'data'}", f"store={tmp_path / 'store'}"]


def test_a_preset_trains_what_it_has_the_data_for(taken, mnist, capsys):
    """What is left out is said in one line; what was typed is asked for; a plan that is only shown has all."""
    assert run_command([*PRESET, *mnist]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "left out" in line]
    assert all(key in line for key in ("random_label_cifar, cifar51, continual_imagenet", "plasticity_lab.data fetch"))
    assert run_command([*PRESET, *mnist, "benchmark=permuted_mnist,cifar51"]) == 0
    assert run_command([*PRESET, *mnist, "dry_run=true"]) == 0
    assert run_command([*PRESET, "data=nothing", mnist[1]]) == 0, "where nothing is here nothing is left out"
    assert "left out" not in capsys.readouterr().err
    first, typed, *others = ([run.science["benchmark"]["name"] for run in runs] for runs, _ in taken)
    assert first == ["permuted_mnist", "random_label_mnist"]
    assert typed == ["permuted_mnist", "cifar51"]
    assert [len(names) for names in others] == [5, 5]


LAUNCH = [module.name for module in pkgutil.iter_modules(commands.__path__)]


@pytest.mark.parametrize(
    "words", [["--store", "{}", "1a2b", "diagnostics=cheap"], ["1a2b", "--store", "{}", "diagnostics=cheap"]]
)
def test_observe_takes_runs_and_diagnostics_around_its_flags(words, store, capsys):
    store.prepare()
    assert main(["observe", *(word.format(store.root) for word in words)]) == 1
    assert "1a2b" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*LAUNCH, *COMMANDS])
def test_each_command_can_read_words_around_its_flags(name, capsys):
    """argparse cannot, for example, where an argument without a flag excludes another one."""
    parser = argparse.ArgumentParser()
    if name in COMMANDS:
        importlib.import_module(COMMANDS[name][0]).add_command(parser)
    else:
        importlib.import_module(f"{commands.__name__}.{name}").add_arguments(parser)
    with pytest.raises(SystemExit) as end:
        parser.parse_intermixed_args(["--help"])
    assert end.value.code == 0


def test_ctrl_c_is_one_line_and_status_130(taken, monkeypatch, capsys):
    def interrupted(runs, settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "train_here", interrupted)
    assert run_command([]) == 130
    assert capsys.readouterr().err == "Interrupted. The same command again continues where this one stopped.\n"
