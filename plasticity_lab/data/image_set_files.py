"""Where the files of one image set are looked for, and the sentences about what is wrong with them there.

A folder of data sets is often shared by a group: no sentence asks anybody to delete something there.
"""

import errno
from dataclasses import dataclass
from pathlib import Path

from plasticity_lab.data.folder import fetch_command
from plasticity_lab.errors import DataError

_FAULTS = (errno.EIO, errno.ESTALE)


@dataclass(frozen=True)
class ImageSetFiles:
    """name, title: what commands and sentences call the set. folder: of data sets. subfolder: its files' in that."""

    name: str
    title: str
    folder: Path
    subfolder: str

    @property
    def own_folder(self) -> str:
        """The way out that touches nothing of anybody's."""
        return f"run `python -m plasticity_lab.data fetch {self.name} --folder FOLDER` and say data=FOLDER"

    @property
    def remedy(self) -> str:
        """What to do about a file that does not hold what it should."""
        mended = f"move it aside and run {fetch_command(self.name, self.folder)}"
        return f"{mended}; or have a folder of your own: {self.own_folder}"

    def holds(self, file: str) -> bool:
        """Whether a file of the set is there.  Raises DataError where that cannot be found out."""
        path = self.folder / self.subfolder / file
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise self.unreadable(path, error) from error
        return True

    def missing(self, file: str) -> DataError:
        """For a file that is not there; `file`: as it is called in sentences."""
        where = f"{self.title} is not in {self.folder / self.subfolder} ({file} is missing)"
        parts = Path(self.subfolder).parts
        for above in list(self.folder.parents)[: len(parts)]:
            if self.folder.is_relative_to(above / parts[0]) and (above / self.subfolder).is_dir():
                return DataError(f"{where}: say data={above}, the folder that holds {self.subfolder}.")
        return DataError(
            f"{where}: run {fetch_command(self.name, self.folder)}, or name the folder that holds {self.subfolder} "
            "with data=… or PLASTICITY_DATA."
        )

    def unreadable(self, path: Path, error: OSError) -> DataError:
        """For a file that is there, and that the operating system does not give."""
        if isinstance(error, PermissionError):
            advice = "you have no permission; ask its owner for it"
        elif isinstance(error, IsADirectoryError):
            return DataError(f"{path} is a folder: {self.remedy}.")
        elif error.errno in _FAULTS:
            advice = "the disk or its server reports a fault; try again later"
        else:
            advice = f"{error.strerror or error}"
        return DataError(f"{path} cannot be read: {advice}, or have a folder of your own: {self.own_folder}.")
