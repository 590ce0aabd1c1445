"""The signals that Slurm sends to a job, noted before anything else is imported: otherwise they end the worker."""

import signal
from types import FrameType


class JobSignals:
    """Which signals a job was sent.  warned: SIGUSR2 or SIGUSR1, its time is nearly up. ending: SIGTERM."""

    def __init__(self) -> None:
        self.warned = self.ending = False
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, self._receive)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)  # comes along with SIGTERM

    def __call__(self) -> bool:
        """True once it is time to checkpoint and to claim nothing more."""
        return self.warned or self.ending

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self.ending = True
        else:
            self.warned = True
