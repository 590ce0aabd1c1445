"""The classes that Hydra insists on finding below its own namespace package; what they do is written in `launch`."""

from collections.abc import Sequence
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.plugins.launcher import Launcher
from omegaconf import OmegaConf

from launch.launchers.slurm.parameters import PackedSlurmConf
from launch.sweeper import ExpandingSweeper
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run


class Expanding(ExpandingSweeper):
    """hydra/sweeper=expanding."""


class Packed(Launcher):
    """hydra/launcher=packed."""

    def setup(self, **_: Any) -> None:
        """Called by Hydra; nothing to prepare."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Any:
        """What another sweeper would call."""
        raise ConfigError("This launcher takes resolved runs, which only hydra/sweeper=expanding makes.")

    def launch_runs(self, runs: Sequence[Run], settings: Settings) -> None:
        """Train the runs packed on this machine."""
        from launch.launchers.local import train_here  # torch: every command, --help too, imports this file

        train_here(runs, settings)


class PackedSlurm(Packed):
    """hydra/launcher=packed_slurm."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = {
            key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
            for key, value in parameters.items()
        }

    def launch_runs(self, runs: Sequence[Run], settings: Settings) -> None:
        """Submit workers that train the runs packed."""
        from launch.launchers.slurm.launcher import submit_runs

        submit_runs(runs, settings, self.parameters)


_store = ConfigStore.instance().store
_store(
    group="hydra/sweeper",
    name="expanding",
    node={"_target_": f"{__name__}.Expanding", "typed": [], "params": {}},
    provider="plasticity_lab",
)
_store(group="hydra/launcher", name="packed", node={"_target_": f"{__name__}.Packed"}, provider="plasticity_lab")
_store(
    group="hydra/launcher",
    name="packed_slurm",
    node=PackedSlurmConf(_target_=f"{__name__}.PackedSlurm"),
    provider="plasticity_lab",
)
