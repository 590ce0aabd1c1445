"""Damaged files of the store: how damage is noticed and named, and how a damaged file is set aside.

Disks fill up, machines lose power, users edit files. No damaged file is deleted: it is renamed, and written again.
"""

import functools
import io
import json
import logging
import os
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import Content, disk_errors, json_bytes, names, write_atomically

log = logging.getLogger(__name__)
Kind = TypeVar("Kind")
_ASIDE = ".corrupt-"
_PARQUET = b"PAR1"
_ZIP_START, _ZIP_END, _ZIP_END_BYTES = b"PK\x03\x04", b"PK\x05\x06", 22


class DamagedFile(StoreError):
    """A damaged file of the store.

    path: its path. reason: the damage, as in «is empty». advice: the consequence, and the way out.
    """

    def __init__(self, path: Path, reason: str, advice: str) -> None:
        super().__init__(f"{path} {reason}; {advice}.")
        self.path, self.reason = path, reason


class OtherFormat(StoreError):
    """A whole file in a format that this version does not read.  path: its path.

    No command sets such a file aside: its runs would be trained again.
    """

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path} {message}")
        self.path = path


class OldFormat(OtherFormat):
    """A file in a format from before the first release; no command continues without it."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            path,
            f"{what} that an earlier version of plasticity_lab wrote, before its first release. This version "
            "does not read it: use another store (store=FOLDER), or read this store with that version.",
        )


class NewFormat(OtherFormat):
    """A file in a format of a later release.  what: «is a record». reads: the latest format that this version reads."""

    def __init__(self, path: Path, what: str, format: int, reads: int) -> None:
        super().__init__(
            path,
            f"{what} of format {format}, which a newer version of plasticity_lab wrote. This version reads "
            f"format {reads}: update it, or use another store (store=FOLDER).",
        )


def read_mapping(path: Path, advice: str) -> dict[str, Any] | None:
    """The mapping in a JSON file; None if there is no file.

    Raises DamagedFile with the advice; StoreError if the disk does not answer.
    """
    content = read_file(path, advice)
    if content is None:
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        reason = (
            f"is not JSON from line {error.lineno} on" if isinstance(error, json.JSONDecodeError) else "is not JSON"
        )
        raise DamagedFile(path, reason if content.strip() else "is empty", advice) from error
    if not isinstance(value, dict):
        raise DamagedFile(path, "is not a mapping", advice)
    return value


def read_as(kind: type[Kind], path: Path, advice: str) -> Kind | None:
    """A JSON file as an object of a dataclass; None if there is no file.

    Raises DamagedFile with the advice; StoreError if the disk does not answer.
    """
    value = read_mapping(path, advice)
    try:
        return None if value is None else object_of(kind, value)
    except ValueError as error:
        raise DamagedFile(path, str(error), advice) from error


def read_undamaged(kind: type[Kind], path: Path) -> Kind | None:
    """As `read_as`, but None for a damaged file.  Raises StoreError if the disk does not answer."""
    try:
        return read_as(kind, path, "")
    except DamagedFile:
        return None


def object_of(kind: type[Kind], value: Any) -> Kind:
    """The object of a dataclass with the values of a mapping from JSON.

    Other keys are ignored; later versions may write them. Null counts as missing, and fields with a default may be
    missing. Raises ValueError that states the value's fault, such as «is not a mapping».
    """
    from pydantic import ValidationError

    if not isinstance(value, dict):
        raise ValueError("is not a mapping")
    try:
        return _reader(kind).validate_python({key: part for key, part in value.items() if part is not None})
    except ValidationError as error:
        faults = [(fault["type"] == "missing", ".".join(map(str, fault["loc"]))) for fault in error.errors()]
    missing = sorted(field for is_missing, field in faults if is_missing)
    wrong = dict.fromkeys(field for _, field in faults)
    raise ValueError(
        f"lacks {', '.join(missing)}" if missing else f"holds something else than it should under {', '.join(wrong)}"
    )


@functools.cache
def _reader(kind: type) -> Any:
    """Pydantic's reader of a dataclass."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def read_file(path: Path, advice: str) -> bytes | None:
    """The content of a file; None if it does not exist.  Raises DamagedFile if the path is a folder; StoreError."""
    with disk_errors("read", path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            raise DamagedFile(path, "is a folder", advice) from None


def write_mapping(path: Path, value: Mapping[str, Any]) -> None:
    """Writes a mapping as JSON, as `write_file` does.  Raises StoreError; ValueError for NaN."""
    write_file(path, json_bytes(value))


def write_file(path: Path, content: Content) -> None:
    """`files.write_atomically` for a file of the store: sets a folder in its place aside.  Raises StoreError."""
    try:
        write_atomically(path, content)
    except StoreError:
        if not path.is_dir():
            raise
        log.warning("%s is a folder instead of a file; it is %s now.", path, rename_aside(path).name)
        write_atomically(path, content)


def fault_of_fields(value: Any, kinds: Mapping[str, Any]) -> str | None:
    """The fault of a value that should be a mapping with fields of these types; None if it has none."""
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
    """The suffix for a file of a folder that is set aside: .corrupt-<n>, with the next free n."""
    numbers = [name.rpartition(_ASIDE)[2] for name in names(folder) if is_aside(name)]
    used = [int(number) for number in numbers if number.isdecimal()]
    return f"{_ASIDE}{max(used, default=0) + 1}"


def is_aside(name: str) -> bool:
    """Whether a file was set aside, by its name."""
    return _ASIDE in name


def seal(content: bytes) -> dict[str, int]:
    """The size and the checksum of a file, which a record keeps to notice damage."""
    return {"bytes": len(content), "crc32": zlib.crc32(content)}


def fault_of_file(path: Path, seal: Mapping[str, int] | None = None) -> str | None:
    """The fault of a Parquet file, or of a file of torch.save (a zip archive without a comment); None without a fault.

    Compares the size and the first and last bytes only.  seal: the seal of the written content, if it is known.
    Raises StoreError if the disk does not answer.
    """
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
    if path.suffix == ".parquet":
        whole = start == end[-4:] == _PARQUET and 0 < int.from_bytes(end[-8:-4], "little") <= size - 12
    else:
        whole = start == _ZIP_START and end.startswith(_ZIP_END)
    return None if whole else "is cut off, or another kind of file"


def tensors_of(content: bytes) -> dict[str, Any]:
    """The mapping in a file of torch.save, on the CPU; unpickles only tensors, numbers, strings, lists and dicts.

    Raises ValueError with the fault in a few words; MemoryError.
    """
    import torch  # takes a second, which commands that only read records save

    try:
        # torch.load does not compare the checksums that torch.save wrote: flipped bits would become numbers.
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            damaged = archive.testzip()
        value = None if damaged else torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # damaged bytes raise nearly anything
        raise ValueError("it is cut off, or another kind of file") from error
    if damaged:
        raise ValueError("one of its checksums is wrong")
    if not isinstance(value, dict):
        raise ValueError("it holds no mapping")
    return value
