"""The worker that submitit pickles, by this module's path. Do not move it: a job may start a week after submission."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PickledWorker:
    """A worker in the form that submitit pickles into a job.  fields: the fields of `JobWorker`, by name."""

    fields: Mapping[str, Any]

    def __call__(self) -> None:
        """Runs the worker, and ends the process."""
        from launch.launchers.slurm.signals import JobSignals

        signals = JobSignals()  # first: the next import takes a second, and may wait for a file server
        from launch.launchers.slurm.job import JobWorker  # unlike this module, it may move after jobs are submitted

        JobWorker(**self.fields)(signals)
