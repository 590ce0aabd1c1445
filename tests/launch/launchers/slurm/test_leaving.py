"""How a worker leaves its job, whatever Slurm's controller does meanwhile.  Slurm and the clock are stand-ins."""

import subprocess
import time

import pytest

from launch.launchers.slurm import cluster, job
from launch.launchers.slurm.job import leave
from launch.launchers.slurm.signals import SENT, JobSignals
from tests.helpers.signals import send

JOB = "60_3"
AWAY = cluster.SlurmError("Unable to contact slurm controller (connect failure)")
RUNS = "JobState=RUNNING Reason=None\nRequeue=1 Restarts=2\nPreemptEligibleTime=2026-11-22T13:54:44 PreemptTime=None"
MAKES_ROOM = RUNS.replace("PreemptTime=None", "PreemptTime=2026-11-22T13:54:48")
CANCELLED = RUNS.replace("RUNNING", "COMPLETING")
TIME_IS_UP = CANCELLED.replace("Reason=None", "Reason=TimeLimit")
TAKEN = CANCELLED.replace("Restarts=2", "Restarts=3")


class Killed(BaseException):
    """Slurm has ended the process."""


class Slurm:
    """Slurm as job 60_3 sees it.

    stands: how it says that the job stands; an error where it does not answer. orders: when it was asked for the
    queue, in seconds. refuses: what it says to that. kills: seconds after which it ends a job whose order it took.
    events: what happens when, by seconds.
    """

    def __init__(self, monkeypatch):
        self.now, self.stands, self.refuses, self.kills = 0.0, RUNS, None, 5.0
        self.orders, self.events = [], {}
        monkeypatch.setattr(job.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(job.time, "sleep", self.sleep)
        monkeypatch.setattr(cluster, "ask", self.ask)

    def ask(self, *command):
        if isinstance(self.stands, Exception):
            self.sleep(9)  # as long as scontrol tries
            raise AWAY
        if command == ("scontrol", "show", "job", JOB):
            return self.stands
        assert command == ("scontrol", "requeue", JOB)
        self.orders.append(self.now)
        if self.refuses is not None:
            raise cluster.SlurmError(self.refuses)
        if self.kills is not None:
            self.stands = TAKEN
            self.events[self.now + self.kills] = self.kill
        return ""

    def sleep(self, seconds):
        self.now += seconds
        for moment in sorted(self.events):
            if moment <= self.now:
                self.events.pop(moment)()

    def kill(self):
        raise Killed

    def set(self, **facts):
        """An event that changes facts."""
        return lambda: vars(self).update(facts)


@pytest.fixture
def slurm(monkeypatch):
    return Slurm(monkeypatch)


def leaves(back=lambda: True, cancelled=lambda: False):
    return leave(JOB, 2, back, cancelled)


def test_a_job_that_slurm_takes_back_is_asked_for_once(slurm):
    with pytest.raises(Killed):
        leaves()
    assert (slurm.orders, slurm.now) == ([0.0], 5.0)


@pytest.mark.parametrize("seconds", [10, 120, 20_000])
def test_a_controller_that_is_away_is_asked_until_it_is_back(slurm, seconds):
    slurm.stands = AWAY
    slurm.events[seconds] = slurm.set(stands=RUNS)
    with pytest.raises(Killed):
        leaves()
    assert len(slurm.orders) == 1
    assert slurm.orders[0] - seconds < 9 + job.LONGEST_PAUSE_SECONDS


@pytest.mark.parametrize("said", ["exit status -12", "Requested operation is presently disabled"])
def test_an_order_that_is_killed_or_refused_is_given_again(slurm, said):
    slurm.refuses = f"`scontrol requeue {JOB}` failed: {said}"
    slurm.events[30] = slurm.set(refuses=None)
    with pytest.raises(Killed):
        leaves()
    assert len(slurm.orders) > 4
    assert slurm.orders[-1] - 30 < job.LONGEST_PAUSE_SECONDS


def test_an_order_that_a_killed_controller_has_forgotten_is_given_again(slurm):
    slurm.kills = None
    slurm.events[30] = slurm.set(kills=5.0)
    with pytest.raises(Killed):
        leaves()
    assert slurm.orders == [0.0, job.GRACE_LOOK_SECONDS]


@pytest.mark.parametrize(("stands", "orders"), [(CANCELLED, 0), (TIME_IS_UP, 1)])
def test_a_job_that_slurm_ends_is_put_back_unless_a_user_cancelled_it(slurm, stands, orders):
    """Slurm would take the order as long as it waits for the job's processes."""
    slurm.stands = AWAY
    slurm.events |= {30: slurm.set(stands=stands), 70: slurm.kill}
    with pytest.raises(Killed):
        leaves()
    assert len(slurm.orders) == orders


def test_a_job_that_has_started_anew_elsewhere_is_left_alone(slurm):
    slurm.stands = TAKEN.replace("COMPLETING", "RUNNING")
    assert leaves() == 1
    assert slurm.orders == []


def test_a_sweep_that_is_cancelled_meanwhile_does_not_come_back(slurm):
    slurm.stands = AWAY
    assert leaves(cancelled=lambda: slurm.now > 100) == 0
    assert slurm.now < 100 + 9 + 2 * job.LOOK_SECONDS
    assert slurm.orders == []


def test_an_announcement_that_comes_while_it_waits_to_be_killed_counts(slurm):
    slurm.stands = MAKES_ROOM
    with pytest.raises(Killed):
        leaves(back=lambda: slurm.now > 100)
    assert len(slurm.orders) == 1
    assert slurm.orders[0] - 100 <= 2 * job.LOOK_SECONDS


def test_a_slurm_that_answers_and_refuses_for_an_hour_has_the_last_word(slurm):
    slurm.refuses = "Requested operation is presently disabled"
    assert leaves() == 1
    assert slurm.now - job.LONGEST_GRACE_SECONDS <= job.LONGEST_PAUSE_SECONDS


@pytest.mark.parametrize(
    ("answers", "seconds"),
    [
        ([RUNS], 60),
        ([RUNS.replace(" PreemptTime=None", "")], 60),
        ([AWAY, AWAY, RUNS], 198),
        ([MAKES_ROOM], 3600),
        ([CANCELLED], 3600),
    ],
)
def test_what_slurm_did_not_end_ends_by_itself(slurm, answers, seconds):
    """A job that is preempted says so; one that somebody's `kill` has reached does not."""
    slurm.stands, *later = answers
    slurm.events |= {69.0 * (at + 1): slurm.set(stands=each) for at, each in enumerate(later)}
    assert leaves(back=lambda: False) == 1
    assert slurm.now == seconds
    assert slurm.orders == []


def test_children_do_not_end_by_what_asks_their_worker_to(signals_as_before):
    """Not one that knows nothing of it, and not from its first moment on."""
    signals = JobSignals()
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe) as child:
        for number in SENT:
            child.send_signal(number)
        assert child.communicate(b"on", timeout=60)[0] == b"on"
    for number in SENT:
        send(number)
    assert (signals.warned, signals.ending) == (True, True)


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
