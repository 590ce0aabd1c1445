"""Files of the store that do not hold what they should: how one is noticed, named and set aside.

Disks fill up, machines lose power, people edit. Nothing that is damaged is deleted: it is renamed, and made anew.
"""

import json
import logging
import os
import stat
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import Content, disk_errors, names, write_atomically, write_json

log = logging.getLogger(__name__)
_ASIDE = ".corrupt-"
_PARQUET = b"PAR1"
_ZIP_START, _ZIP_END, _ZIP_END_BYTES = b"PK\x03\x04", b"PK\x05\x06", 22


class DamagedFile(StoreError):
    """A file of the store that does not hold what it should.

    path: which. reason: what is wrong with it, as in «is empty». advice: what follows, and what to do.
    """

    def __init__(self, path: Path, reason: str, advice: str) -> None:
        super().__init__(f"{path} {reason}; {advice}.")
        self.path, self.reason = path, reason


def read_mapping(path: Path, advice: str) -> dict[str, Any] | None:
    """The mapping that a file holds as JSON; None where there is no file.

    Raises DamagedFile with the advice; StoreError if the disk does not answer.
    """
    content = read_file(path, advice)
    if content is None:
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, _not_json(content, error), advice) from error
    if not isinstance(value, dict):
        raise DamagedFile(path, "is not a mapping", advice)
    return value


def read_file(path: Path, advice: str) -> bytes | None:
    """What a file holds; None where there is none.  Raises DamagedFile where a folder is in its place; StoreError."""
    with disk_errors("read", path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            raise DamagedFile(path, "is a folder", advice) from None


def write_mapping(path: Path, value: Mapping[str, Any]) -> None:
    """`files.write_json`, over whatever stands there, as `write_file` does.  Raises StoreError; ValueError for NaN."""
    _over_folders(path, lambda: write_json(path, value))


def write_file(path: Path, content: Content) -> None:
    """`files.write_atomically`, for a file of the store: a folder in its place is set aside.  Raises StoreError."""
    _over_folders(path, lambda: write_atomically(path, content))


def _over_folders(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except StoreError:
        if not path.is_dir():
            raise
        log.warning("%s is a folder, where a file belongs; it is %s now.", path, rename_aside(path).name)
        write()


def fault_of_fields(value: Any, kinds: Mapping[str, Any]) -> str | None:
    """What is wrong with a value that should be a mapping with fields of these types; None if nothing is."""
    if not isinstance(value, dict):
        return "is not a mapping"
    if missing := kinds.keys() - value.keys():
        return f"lacks {', '.join(sorted(missing))}"
    wrong = [name for name, kind in kinds.items() if not isinstance(value[name], kind)]
    return f"holds something else than it should under {', '.join(wrong)}" if wrong else None


def rename_aside(path: Path) -> Path:
    """Renames a file, or the folder in its place, to <name>.corrupt-<n>.  Returns its new path.  Raises StoreError."""
    aside = path.with_name(path.name + next_suffix(path.parent))
    with disk_errors("write", path):
        os.replace(path, aside)
    return aside


def next_suffix(folder: Path) -> str:
    """What is added to the name of a file of a folder that is set aside: .corrupt-<n>, of an n not used there yet."""
    numbers = [name.rpartition(_ASIDE)[2] for name in names(folder) if is_aside(name)]
    used = [int(number) for number in numbers if number.isdecimal()]
    return f"{_ASIDE}{max(used, default=0) + 1}"


def is_aside(name: str) -> bool:
    """Whether a file was set aside."""
    return _ASIDE in name


def seal(content: bytes) -> dict[str, int]:
    """What a record keeps of a file, by which damage to it is noticed: its size and checksum."""
    return {"bytes": len(content), "crc32": zlib.crc32(content)}


def fault_of_parquet(path: Path, seal: Mapping[str, int] | None = None) -> str | None:
    """What is wrong with a Parquet file, by its size and its first and last bytes; None if nothing is.

    seal: of what was written, where that is known.  Raises StoreError if the disk does not answer.
    """

    def whole(start: bytes, end: bytes, size: int) -> bool:
        footer = int.from_bytes(end[-8:-4], "little")
        return start == end[-4:] == _PARQUET and 0 < footer <= size - 12

    return _fault(path, seal, whole)


def fault_of_tensors(path: Path, seal: Mapping[str, int] | None = None) -> str | None:
    """The same of a file that torch.save has written, a zip archive without a comment."""

    def whole(start: bytes, end: bytes, size: int) -> bool:
        return start == _ZIP_START and end.startswith(_ZIP_END)

    return _fault(path, seal, whole)


def _fault(path: Path, seal: Mapping[str, int] | None, whole: Callable[[bytes, bytes, int], bool]) -> str | None:
    with disk_errors("read", path):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return "is missing"
        try:
            about = os.fstat(descriptor)
            if stat.S_ISDIR(about.st_mode):
                return "is a folder"
            size = about.st_size
            if not size:
                return "is empty"
            if seal is not None and size != seal["bytes"]:
                return f"has {size:,} bytes of the {seal['bytes']:,} that were written"
            start, end = os.pread(descriptor, 4, 0), os.pread(descriptor, _ZIP_END_BYTES, max(0, size - _ZIP_END_BYTES))
        finally:
            os.close(descriptor)
    return None if whole(start, end, size) else "is cut off, or another kind of file"


def _not_json(content: bytes, error: Exception) -> str:
    if not content.strip():
        return "is empty"
    return f"is not JSON from line {error.lineno} on" if isinstance(error, json.JSONDecodeError) else "is not JSON"
