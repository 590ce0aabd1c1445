"""The classes that Hydra looks for below its own namespace package, and their parameters, by name.

Every command imports this, --help too, and import-linter does not see it. So the classes are defined in `launch`, and
tests/test_floors.py lists the modules that this file may import.
"""

from hydra.core.config_store import ConfigStore

from launch.launchers.plugins import PackedLauncher, PackedSlurmLauncher
from launch.launchers.slurm.parameters import PackedSlurmConf


class Packed(PackedLauncher):
    """hydra/launcher=packed."""


class PackedSlurm(PackedSlurmLauncher):
    """hydra/launcher=packed_slurm."""


_store = ConfigStore.instance().store
_ours = {"provider": "plasticity_lab"}
# An experiment's words, key → value; its arms, which have words of their own beside these; how words change for a
# benchmark (`launch.runs.files`).
# Runs are resolved before a sweeper of Hydra's would be called: there is no class.
_store(group="hydra/sweeper", name="expanding", node={"params": {}, "arms": [], "for_benchmark": {}}, **_ours)
_store(group="hydra/launcher", name="packed", node={"_target_": f"{__name__}.Packed"}, **_ours)
_store(group="hydra/launcher", name="packed_slurm", node=PackedSlurmConf(_target_=f"{__name__}.PackedSlurm"), **_ours)
