"""What Slurm sends to all processes of a job, met by its worker alone."""

import subprocess

from launch.launchers.slurm.signals import SENT, JobSignals
from tests.helpers.signals import send


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
