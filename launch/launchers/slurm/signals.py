"""The signals that Slurm sends to a job, noted before any other import: otherwise they end the worker.

Slurm sends them to every process of a job, and by default they end a process: a compiler, a companion, a helper that
steps environments, or the very scontrol that puts the job back into the queue. So this process blocks them, its
children inherit that, whatever library starts them, and a thread receives them for this process.
"""

import math
import signal
import threading
import time
from types import FrameType

EARLY_SECONDS = 60
"""Slurm may send the signal that announces the time limit this many seconds earlier than `signal_delay_s` says."""
KILL_SECONDS = 30.0
"""Slurm's default time from SIGTERM to the kill of a job (KillWait). A partition's GraceTime may be longer."""
SENT = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""By these Slurm asks a job to end."""


class JobSignals:
    """The signals that a job was sent.  warned: SIGUSR2 or SIGUSR1, its time is nearly up. ending: SIGTERM.

    notice_seconds: the time from the warning to the end; known once the job has read its parameters.
    """

    def __init__(self) -> None:
        self.warned = self.ending = False
        self.notice_seconds = math.inf
        self._warned_at = self._ending_at = math.inf
        for number in SENT:
            signal.signal(number, self._receive)  # an earlier thread, which does not block them, may get one too
        signal.signal(signal.SIGCONT, signal.SIG_DFL)  # comes along with SIGTERM
        signal.pthread_sigmask(signal.SIG_BLOCK, SENT)
        threading.Thread(target=_take, daemon=True).start()

    def __call__(self) -> bool:
        """True once it is time to write a checkpoint and to claim no more packs."""
        return self.warned or self.ending

    def seconds_left(self) -> float:
        """Seconds until Slurm ends the job, by the signals so far; infinite without any."""
        ends = min(self._warned_at + self.notice_seconds, self._ending_at + KILL_SECONDS)
        return ends - time.monotonic()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self.ending, self._ending_at = True, min(self._ending_at, time.monotonic())
        else:
            self.warned, self._warned_at = True, min(self._warned_at, time.monotonic())


def _take() -> None:
    """Calls the handler of each signal that the process is sent."""
    while True:
        number = signal.sigwait(SENT)
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, None)
