"""The worker that submitit pickles into a job, by this module's path: a job may start next week, so do not move it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PickledWorker:
    """A worker as submitit carries it into a job.  fields: those of `JobWorker`, by name."""

    fields: Mapping[str, Any]

    def __call__(self) -> None:
        """Works, and ends the process."""
        from launch.launchers.slurm.signals import JobSignals

        signals = JobSignals()  # at once: the next line imports for a second, and may wait for a file server
        from launch.launchers.slurm.job import JobWorker  # may have moved since the job was submitted; this has not

        JobWorker(**self.fields)(signals)
