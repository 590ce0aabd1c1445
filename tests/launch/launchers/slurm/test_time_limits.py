"""When a job's time is over: by what Slurm tells of it, and where Slurm is silent."""

import time

import pytest

from launch.launchers.slurm import cluster, job


@pytest.fixture
def hours(monkeypatch):
    """A clock that sleeping moves → what it says."""
    now = [0.0]
    monkeypatch.setattr(job.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(job.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setenv("SLURM_JOB_ID", "61")
    return now


def test_a_time_limit_that_slurm_did_not_tell_is_taken_from_the_environment(monkeypatch, hours):
    monkeypatch.setattr(cluster, "seconds_left", lambda name: None)
    assert job._time_until("61", 180)(1e9), "neither tells"
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(int(time.time()) + 1000))
    enough = job._time_until("61", 180)
    assert enough(700)
    assert not enough(900)


def test_a_silent_slurm_is_asked_for_the_time_limit_again(monkeypatch, hours):
    answers = iter([None, 1000.0])
    monkeypatch.setattr(cluster, "seconds_left", lambda name: next(answers))
    enough = job._time_until("61", 180)
    assert enough(1e9)
    hours[0] += job.ASK_SECONDS + 1
    assert not enough(900)
    assert enough(700)
