"""How long a worker that is to stop has: by whoever will end it."""

import math
import os
import signal

import pytest

from launch.launchers.slurm import signals as slurm
from launch.launchers.slurm.signals import JobSignals
from launch.work import patience
from launch.work.patience import NOTICE_SECONDS, StopSignal, seconds_left
from tests.helpers.signals import send
from tests.helpers.sweeps import never


@pytest.fixture
def clock(monkeypatch, signals_as_before):
    """A clock that a test sets."""
    now = [1000.0]
    for module in (patience, slurm):
        monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_one_that_knows_nothing_is_not_in_a_hurry():
    assert seconds_left(never) == math.inf


def test_the_command_waits_for_its_workers_and_nobody_for_one_alone(clock):
    stop, alone = StopSignal(os.getppid()), StopSignal(None)
    assert seconds_left(stop) == math.inf
    for each in (stop, alone):
        signal.signal(signal.SIGTERM, each._receive)
        signal.raise_signal(signal.SIGTERM)
    clock[0] += 5
    signal.signal(signal.SIGTERM, stop._receive)
    signal.raise_signal(signal.SIGTERM)  # a second time, which changes nothing
    assert (seconds_left(stop), seconds_left(alone)) == (NOTICE_SECONDS - 5, math.inf)
    stop.parent = -1  # it is gone
    assert stop()
    assert seconds_left(stop) == math.inf


def test_slurm_says_when_the_time_is_up_and_kills_soon_after_sigterm(clock):
    signals = JobSignals()
    signals.notice_seconds = 120.0
    assert seconds_left(signals) == math.inf
    send(signal.SIGUSR2)
    clock[0] += 10
    assert (signals.warned, seconds_left(signals)) == (True, 110)
    send(signal.SIGTERM)
    clock[0] += 1
    assert (signals.ending, seconds_left(signals)) == (True, slurm.KILL_SECONDS - 1)
