"""What `python -m launch resume` gives to Slurm, without Slurm."""

import shutil

import pytest

from launch.__main__ import main
from launch.launchers.slurm import launcher
from plasticity_lab.records.record import read_record, write_record
from tests.helpers.slurm_files import given_to_slurm
from tests.helpers.sweeps import planned, runs_of, trained


@pytest.fixture
def resume(store, capsys, monkeypatch):
    """Resumes → the exit status, the runs given to Slurm, and what was said on stderr."""
    given = []
    monkeypatch.setattr(launcher, "submit_runs", lambda runs, *_: given.extend(runs))

    def resume(*words):
        given.clear()
        return main(["resume", *words, "--store", str(store.root)]), list(given), capsys.readouterr().err

    return resume


@pytest.fixture
def sweep(store):
    """Two runs, of which one was finished before they were planned as a sweep for Slurm."""
    trained(store, "seed=0")
    plan = planned(store, "seed=0,1")
    given_to_slurm(store, plan.sweep, {"60": 1})
    assert len(plan.runs) == 1
    return plan.sweep


def test_a_finished_run_whose_files_are_damaged_is_given_again_as_its_record_tells_of_it(store, resume, sweep):
    finished = runs_of("seed=0")[0]
    store.metrics(finished.id).unlink()
    status, runs, _ = resume(sweep)
    assert status == 0
    (again,) = [run for run in runs if run.id == finished.id]
    assert (again.science, again.targets) == (finished.science, finished.targets)
    assert sorted(run.id for run in runs) == sorted(run.id for run in runs_of("seed=0,1"))


@pytest.mark.parametrize("how", ["gone", "damaged", "old"])
def test_one_of_which_too_little_is_known_leads_to_its_command(store, resume, sweep, how):
    finished = runs_of("seed=0")[0].id
    store.metrics(finished).unlink()
    if how == "gone":
        store.record(finished).unlink()
    elif how == "damaged":
        store.record(finished).write_text("{")
    else:
        write_record(store, read_record(store, finished) | {"targets_assumed": True})
    status, runs, err = resume(sweep)
    assert (status, runs, err.count("\n")) == (1, [], 1)
    assert finished in err
    assert "Only the command itself can train it again: " in err


def test_where_it_is_not_known_how_workers_were_started_the_command_goes_on(store, resume, sweep):
    shutil.rmtree(store.submissions_folder(sweep))
    assert "was not given to Slurm" in resume(sweep)[2]
    (store.sweep_folder(sweep) / "jobs").mkdir()
    status, runs, err = resume(sweep)
    assert (status, runs) == (1, [])
    assert str(store.submissions_folder(sweep)) in err
    assert "The command itself goes on" in err
