"""The folder of data sets, and the messages about files of an image set that are missing or unreadable there.

A group often shares this folder, so no message asks a user to delete a file in it.
"""

import errno
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from plasticity_lab.errors import DataError
from plasticity_lab.process.account import expanded, settle_account


def data_folder(setting: str | Path | None) -> Path:
    """The folder of data sets: the setting, or the environment variable PLASTICITY_DATA, or one in the user's cache."""
    settle_account()
    if not (folder := setting or os.environ.get("PLASTICITY_DATA")):
        import pooch  # takes a tenth of a second, which a command that names its folder saves

        folder = pooch.os_cache("plasticity_lab")
    return expanded(folder).absolute()


def fetch_command(name: str, folder: Path) -> str:
    """The command that downloads an image set into a folder, for messages."""
    return f"`python -m plasticity_lab.data fetch {name} --folder {shlex.quote(str(folder))}`"


@dataclass(frozen=True)
class ImageSetFiles:
    """The files of one image set.

    name, title: its name in commands and in messages. folder: the folder of data sets. subfolder: the folder of its
    files, in that folder.
    """

    name: str
    title: str
    folder: Path
    subfolder: str

    @property
    def own_folder(self) -> str:
        """The advice to use another folder, which changes no file of other users."""
        return f"run `python -m plasticity_lab.data fetch {self.name} --folder FOLDER` and say data=FOLDER"

    @property
    def remedy(self) -> str:
        """The advice for a damaged file."""
        mended = f"move it aside and run {fetch_command(self.name, self.folder)}"
        return f"{mended}; or use your own folder: {self.own_folder}"

    def path(self, file: str) -> Path:
        """The path of a file of the set."""
        return self.folder / self.subfolder / file

    def holds(self, file: str) -> bool:
        """Whether the folder has this file.  Raises DataError if the file system does not answer."""
        try:
            self.path(file).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise self.unreadable(self.path(file), error) from error
        return True

    def missing(self, file: str) -> DataError:
        """The error for a missing file; `file`: its name in messages."""
        where = f"{self.title} is not in {self.path('')} ({file} is missing)"
        parts = Path(self.subfolder).parts
        for above in list(self.folder.parents)[: len(parts)]:
            if self.folder.is_relative_to(above / parts[0]) and (above / self.subfolder).is_dir():
                return DataError(f"{where}: say data={above}, the folder that holds {self.subfolder}.")
        return DataError(
            f"{where}: run {fetch_command(self.name, self.folder)}, or name the folder that holds {self.subfolder} "
            "with data=… or PLASTICITY_DATA."
        )

    def unreadable(self, path: Path, error: OSError) -> DataError:
        """The error for a file that exists and cannot be read."""
        if isinstance(error, IsADirectoryError):
            return DataError(f"{path} is a folder: {self.remedy}.")
        if isinstance(error, PermissionError):
            advice = "you have no permission; ask its owner for it"
        elif error.errno in (errno.EIO, errno.ESTALE):
            advice = "the disk or its server reports a fault; try again later"
        else:
            advice = f"{error.strerror or error}"
        return DataError(f"{path} cannot be read: {advice}, or use your own folder: {self.own_folder}.")
