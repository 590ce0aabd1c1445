"""Where data sets lie, and the command that brings them there."""

import os
import shlex
from pathlib import Path

from plasticity_lab.process.account import expanded, settle_account

VARIABLE = "PLASTICITY_DATA"


def data_folder(setting: str | Path | None) -> Path:
    """The folder of data sets: the setting, else the environment's PLASTICITY_DATA, else one in the user's cache."""
    settle_account()
    if not (named := setting or os.environ.get(VARIABLE)):
        import pooch  # a tenth of a second; a command that names its folder need not wait for it

        named = pooch.os_cache("plasticity_lab")
    return expanded(named).absolute()


def fetch_command(name: str, folder: Path) -> str:
    """The command that downloads an image set into a folder, for sentences that say what to do."""
    return f"`python -m plasticity_lab.data fetch {name} --folder {shlex.quote(str(folder))}`"
