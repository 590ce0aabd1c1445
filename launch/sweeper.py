"""The sweeper: hands all runs of a command to our launcher at once, or to one of Hydra's one by one."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from launch.runs.options import Options
from launch.runs.overrides import overrides_of, spelled
from launch.runs.resolve import resolved
from launch.tracking.choice import check_tracking
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run


@runtime_checkable
class TakesRuns(Protocol):
    """A launcher that plans all runs of a sweep together."""

    def launch_runs(self, runs: Sequence[Run], settings: Settings) -> None:
        """Train the runs, or print their plan."""


class ExpandingSweeper(Sweeper):
    """typed: the words of the command line; params: an experiment's words, key → value, which a typed one replaces."""

    def __init__(self, typed: Sequence[str] = (), params: Mapping[str, Any] | None = None) -> None:
        self.typed = list(typed)
        self.preset = preset_words(params or {})

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra before `sweep`."""
        self._context, self._task, self._config = hydra_context, task_function, config

    def sweep(self, arguments: list[str]) -> Any:
        """Resolve the runs and pass them on.  The arguments are what `typed` does not hold: the experiment's name."""
        options = Options(self._context.config_loader, self._config)
        found = resolved(options, self.preset, self.typed)
        check_tracking(found.settings.tracking)
        for note in found.notes:
            print(note, file=sys.stderr)
        launcher = Plugins.instance().instantiate_launcher(self._context, self._task, self._config)
        if isinstance(launcher, TakesRuns):
            return launcher.launch_runs(found.runs, found.settings)
        jobs = launcher.launch([overrides_of(run, found.settings) for run in found.runs], initial_job_idx=0)
        return [job.return_value for job in jobs]  # reading it raises what the job raised


def preset_words(params: Mapping[str, Any]) -> list[str]:
    """An experiment's hydra.sweeper.params as words; a string there is written as on the command line."""
    return [f"{key}={value if isinstance(value, str) else spelled(value)}" for key, value in params.items()]
