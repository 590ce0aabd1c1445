"""What `python -m launch status` says of jobs, beside what the store says of runs, without Slurm."""

import json

import pytest

from launch.__main__ import main
from launch.launchers.slurm import own_jobs
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.packs.submissions import submissions_of
from tests.helpers.slurm_files import given_to_slurm, in_accounting, in_queue
from tests.helpers.stand_ins import fails, prints, put_on_path, tells
from tests.helpers.sweeps import never, planned, work


@pytest.fixture
def sweep(store):
    """Two runs that wait in a pack each, given to Slurm as array 60."""
    plan = planned(store, "activation=relu,tanh", "seed=0", "launch.workers=1")
    given_to_slurm(store, plan.sweep, {"60": 5})
    return plan


@pytest.fixture
def queue_says(store, sweep):
    """From "60_0|RUNNING|None|n1" to what squeue prints of it; with a user, of a job of that user's."""
    (submission,) = submissions_of(store, sweep.sweep, [])
    return lambda *jobs, **other: tells(*in_queue(store, submission, *jobs, **other))


@pytest.fixture
def sacct_says(store, sweep):
    """From "60_0|TIMEOUT|0:0|n1" to what sacct prints of it."""
    (submission,) = submissions_of(store, sweep.sweep, [])
    return lambda *jobs, **other: tells(*in_accounting(submission, *jobs, **other))


@pytest.fixture
def said(store, capsys, tmp_path, monkeypatch):
    """What status prints where squeue and sacct do as said: the sweep's row, the lines after it, and stderr."""

    def said(squeue, sacct, *words, **others):
        put_on_path(monkeypatch, tmp_path / "bin", squeue=squeue, sacct=sacct, **others)
        assert main(["status", "--store", str(store.root), *words]) == 0
        out, err = capsys.readouterr()
        _, row, *lines = out.splitlines()
        return row, lines, err

    return said


def test_queued_jobs_are_why_nobody_trains(sweep, said, queue_says, sacct_says):
    squeue = queue_says("60_0|PENDING|Resources|", "60_1|PENDING|Resources|", "60_2|PENDING|Priority|")
    row, (line,), err = said(squeue, sacct_says("60_[0-2]|PENDING|0:0|None assigned"))
    assert (row.split()[1:5], "queued" in row, err) == (["2", "-", "-", "2"], True, "")
    assert all(key in line for key in (sweep.sweep, "2 wait", "(Resources)", "1 waits", "(Priority)"))


def test_how_jobs_ended_and_what_goes_on(sweep, said, sacct_says):
    ended = [f"60_{task}|TIMEOUT|0:0|n1" for task in range(4)]
    row, (how, way_out), _ = said(prints(), sacct_says(*ended, "60_4|OUT_OF_MEMORY|0:125|n1"))
    assert "stopped" in row
    assert all(key in how for key in ("4 ended early: time limit", "60_2 and 1 more", "out of memory (60_4)"))
    assert f"python -m launch resume {sweep.sweep}" in way_out


def test_the_store_is_believed_whatever_slurm_says(sweep, said, store, sacct_says):
    """A lease that is kept is a run in training, though Slurm knows of no job; what is done needs no explanation."""
    Leases(store, 100, Owner("elsewhere", 1)).claim([sweep.packs[0].id])
    row, (line,), _ = said(prints(), sacct_says("60_0|CANCELLED by 0|0:0|n1"))
    assert row.split()[1:5] == ["2", "-", "1", "1"]
    assert "cancelled (60_0)" in line


def test_of_a_finished_sweep_slurm_is_not_asked(sweep, said, store):
    work(store, sweep.sweep, "cpu", never)
    row, lines, err = said("exit 1", "exit 1")
    assert row.split()[1:3] == ["2", "2"]
    assert (lines, err) == ([], "")


@pytest.mark.parametrize(
    ("squeue", "why"),
    [
        ("exec sleep 60", "0.2 seconds"),
        (fails("slurm_load_jobs error: Unable to contact slurm controller (connect failure)"), "connect failure"),
    ],
)
def test_a_cluster_that_does_not_answer_is_a_line_and_the_stores_facts(sweep, said, monkeypatch, squeue, why):
    monkeypatch.setattr(own_jobs, "PATIENCE_SECONDS", 0.2)
    row, (line,), err = said(squeue, prints())
    assert (row.split()[1:5], "?" in row, sweep.sweep in line) == (["2", "-", "-", "2"], True, True)
    assert (err.count("\n"), "squeue" in err, why in err) == (1, True, True)


def test_one_question_for_all_sweeps(store, sweep, said, tmp_path, queue_says):
    other = planned(store, "seed=1")
    _, last = given_to_slurm(store, other.sweep, {"61": 1, "62": 1})
    asked = tmp_path / "asked"
    words = f'echo "$0 $*" >> {asked}'
    waits = tells(*in_queue(store, last, "62|PENDING|Priority|"))
    _, lines, _ = said(f"{words}\n{queue_says('60_0|RUNNING|None|n1')}\n{waits}", words)
    assert len(asked.read_text().splitlines()) == 2
    assert asked.read_text().count("--jobs=60,61,62") == 1
    assert f"{other.sweep} on Slurm: no job runs; 1 waits behind jobs of higher priority (Priority)." in lines


def test_json_has_every_job(sweep, store, said, capsys, tmp_path, monkeypatch, queue_says, sacct_says):
    squeue, sacct = queue_says("60_1|RUNNING|None|n1"), sacct_says("60_0|TIMEOUT|0:0|n1")
    put_on_path(monkeypatch, tmp_path / "bin", squeue=squeue, sacct=sacct)
    assert main(["status", "--store", str(store.root), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    known = {"running": ["60_1"], "waiting": {}, "ended": {"time limit": ["60_0"]}}
    assert found["slurm"] == known | {"cancelled": False, "unknown": {}}


def test_jobs_on_another_cluster_are_named_and_not_asked_for(store, said):
    plan = planned(store, "seed=2")
    (there,) = given_to_slurm(store, plan.sweep, {"60": 1}, cluster="north")
    command = prints("ClusterName             = south")
    _, lines, err = said(prints(), tells(*in_accounting(there, "60|TIMEOUT|0:0|n1")), scontrol=command)
    assert "north" in err
    assert lines[0] == f"{plan.sweep} on Slurm: no job runs."


def test_jobs_in_a_state_that_is_not_known_are_not_over(sweep, said, queue_says):
    row, lines, _ = said(
        queue_says("60_0|EXPEDITING|None|n1", "60_1|RESV_DEL_HOLD|Reservation a was deleted|"), prints()
    )
    assert "queued" in row
    (line,) = lines
    assert "EXPEDITING" in line
    assert "60_0" in line
    assert "1 waits until it is released" in line
