"""Receives the signals that Slurm sends to a job. This begins before any other import: otherwise they end the worker.

Slurm sends them to every process of a job, and by default they end a process: a compiler, another helper process, or
the scontrol that puts the job back into the queue. So this process blocks them. Child processes inherit the block from
any library that starts them. A thread receives the signals for this process.
"""

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

EARLY_SECONDS = 60
"""Slurm may send the signal of the time limit up to this number of seconds earlier than `signal_delay_s` says."""
KILL_SECONDS = 30.0
"""Slurm's default time from SIGTERM to the kill of a job (KillWait). A partition's GraceTime may be longer."""
SENT = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""The signals that ask a job to end."""


class JobSignals:
    """The signals that a job has received.

    warned: SIGUSR2 or SIGUSR1 came, so its time is nearly up. ending: SIGTERM came. notice_seconds: the seconds
    from the warning to the end; infinite until the job has read its parameters. cancelled: whether its sweep is
    cancelled; False until the job has read its parameters.
    """

    def __init__(self) -> None:
        self.warned = self.ending = False
        self.notice_seconds = math.inf
        self.cancelled: Callable[[], bool] = lambda: False
        self._warned_at = self._ending_at = math.inf
        for number in SENT:
            signal.signal(number, self._receive)  # earlier threads do not block them, and may receive one too
        signal.signal(signal.SIGCONT, signal.SIG_DFL)  # Slurm sends it together with SIGTERM
        signal.pthread_sigmask(signal.SIG_BLOCK, SENT)
        threading.Thread(target=_take, daemon=True).start()

    def __call__(self) -> bool:
        """Whether it is time to write a checkpoint and to claim no more packs."""
        return self.warned or self.ending or self.cancelled()

    def seconds_left(self) -> float:
        """Seconds until Slurm ends the job, according to the signals so far; infinite without a signal."""
        ends = min(self._warned_at + self.notice_seconds, self._ending_at + KILL_SECONDS)
        return ends - time.monotonic()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self.ending, self._ending_at = True, min(self._ending_at, time.monotonic())
        else:
            self.warned, self._warned_at = True, min(self._warned_at, time.monotonic())


def _take() -> None:
    """Calls the handler for each signal that the process receives."""
    while True:
        number = signal.sigwait(SENT)
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, None)
