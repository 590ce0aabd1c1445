"""Unpacking published archives: only the files that were asked for, whole files or none, nothing outside the folder."""

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from plasticity_lab.data.download import unwritable
from plasticity_lab.errors import DataError

_AGAIN = "move it aside and fetch it again"


def unpack(archive: Path, wanted: Collection[str], folder: Path) -> None:
    """Bring the wanted files of a tar archive into the folder, each under its name only when it is whole.

    The members are named one by one, so that nothing depends on tarfile's extraction filters, which Python has only
    since 3.11.4.  Raises DataError if the archive is damaged, lacks a wanted file, holds a link or the like in its
    place, or names any file outside its own folder; then nothing has been written.
    """
    try:
        with tarfile.open(archive) as tar:
            members = {member.name: member for member in tar.getmembers()}
            _refuse_what_is_unsafe(archive, wanted, members)
            for name in wanted:
                with tar.extractfile(members[name]) as content:
                    _place(content, folder / name)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{archive} is truncated or damaged: {_AGAIN}.") from error
    except OSError as error:
        raise unwritable(folder, error) from error


def _refuse_what_is_unsafe(archive: Path, wanted: Collection[str], members: dict[str, tarfile.TarInfo]) -> None:
    for path in map(PurePosixPath, members):
        if path.is_absolute() or ".." in path.parts:
            raise DataError(f"{archive} names the file {path}, outside its own folder: it is not safe; {_AGAIN}.")
    for name in wanted:
        if name not in members or not members[name].isfile():
            raise DataError(f"{archive} does not hold the file {name}: it is not the published archive; {_AGAIN}.")


def _place(content, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        unfinished.chmod(0o644)  # a group shares one folder of data
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
