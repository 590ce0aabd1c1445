"""When a job's time is over: by what Slurm tells of it, and where Slurm is silent."""

import time

import pytest

from launch.launchers.slurm import cluster, job


def slurm_says(monkeypatch, *answers):
    """What scontrol tells of a job, answer by answer, the last from then on; None where it is silent."""
    left = list(answers)

    def ask(*command):
        assert command == ("scontrol", "show", "job", "61")
        answer = left.pop(0) if len(left) > 1 else left[0]
        if answer is None:
            raise cluster.SlurmError("scontrol does not answer.")
        return answer

    monkeypatch.setattr(cluster, "ask", ask)


RUNS = "   JobState=RUNNING Reason=None\n   PreemptEligibleTime=2026-11-22T13:54:44 PreemptTime=None\n"


@pytest.fixture
def hours(monkeypatch):
    """A clock that sleeping moves → what it says."""
    now = [0.0]
    monkeypatch.setattr(job.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(job.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setenv("SLURM_JOB_ID", "61")
    return now


@pytest.mark.parametrize(
    ("answers", "seconds"),
    [
        ([RUNS], 60),
        ([RUNS.replace("PreemptTime=None", "")], 60),
        ([None, None, RUNS], 180),
        ([RUNS.replace("PreemptTime=None", "PreemptTime=2026-11-22T13:54:48")], 3600),
        (["JobState=COMPLETING"], 3600),
        ([None], 3600),
    ],
)
def test_what_slurm_did_not_end_ends_by_itself(monkeypatch, hours, answers, seconds):
    """A job that is preempted says so; one that somebody's `kill` has reached does not."""
    slurm_says(monkeypatch, *answers)
    assert job._wait_to_be_killed() == 1
    assert hours[0] == seconds


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
