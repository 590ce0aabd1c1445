"""Our launchers as Hydra plugins: hydra/launcher=packed and hydra/launcher=packed_slurm."""

from collections.abc import Sequence
from typing import Any

from hydra.plugins.launcher import Launcher
from omegaconf import OmegaConf

from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


class PackedLauncher(Launcher):
    """Trains all runs of a command packed, on this machine."""

    def setup(self, **_: Any) -> None:
        """Called by Hydra; does nothing."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Any:
        """Called by Hydra's standard sweepers, which these launchers do not support.  Raises ConfigError."""
        raise ConfigError("This launcher takes resolved runs, which only plasticity_lab.main makes.")

    def launch_runs(self, runs: Sequence[Run], settings: Settings) -> None:
        """Trains the runs, or prints their plan."""
        # Every command, even --help, imports this file. Most commands need neither a store nor torch.
        from launch.launchers.finished import all_finished_here

        if all_finished_here(runs, settings):
            return
        from launch.launchers.local import train_here

        train_here(runs, settings)

    def at_once(self, run: Run, settings: Settings) -> int:
        """The number of runs like this one that train at once on this machine."""
        from launch.launchers.local import Machine
        from launch.launchers.prepare import at_once  # torch, as above

        return at_once(run, Machine.of(settings).resources, settings)


class PackedSlurmLauncher(PackedLauncher):
    """Submits workers to Slurm that train the runs packed.  parameters: the fields of `PackedSlurmConf`."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters: dict[str, Any] = {
            key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
            for key, value in parameters.items()
        }

    def launch_runs(self, runs: Sequence[Run], settings: Settings) -> None:
        """Submits the workers, or prints their plan."""
        from launch.launchers.finished import all_finished
        from launch.launchers.slurm.parameters import check_submission

        if all_finished(runs, settings, lambda: check_submission(self.parameters, settings)):
            return
        from launch.launchers.slurm.launcher import submit_runs  # torch, as above

        submit_runs(runs, settings, self.parameters)

    def at_once(self, run: Run, settings: Settings) -> int:
        """The number of runs like this one that train at once on the cluster."""
        from launch.launchers.prepare import at_once  # torch, as above
        from launch.launchers.slurm.launcher import resources_of

        return at_once(run, resources_of(Store(settings.store), settings, self.parameters), settings)
