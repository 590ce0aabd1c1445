"""The permanent files of a store, by their exact names: for export, for import, and to recognise a store.

No other file is extracted from an archive, and no code is imported from a folder with such files.
"""

import os
import re
import site
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

ID = r"[0-9a-f]{12}"
RUNS, SWEEPS, PACKS, REGISTRATIONS, SEARCHES = "runs", "sweeps", "packs", "preregistered", "searches"
REPORT = "report.html"
CURVE = r"curve\.png"
"""A picture that `launch show` writes next to a record or a checkpoint."""
LAYOUT: Mapping[str, Sequence[str]] = {
    RUNS: (
        r"[0-9a-f]{2}",
        ID,
        rf"record\.json|metrics\.parquet|weights\.pt|statistics\.pt|weights-task-[0-9]+\.pt|film\.gif|{CURVE}",
    ),
    SWEEPS: (ID, r"plan\.json"),
    PACKS: (ID, rf"progress\.json|binding\.json|(checkpoint|weights|film)\.[0-9]+|memory\.[0-9]+\.[0-9]+|{CURVE}"),
    "done": (ID,),
    "divided": (rf"{ID}(\.parts)?",),
    REGISTRATIONS: (r"[a-z0-9][a-z0-9_-]*(\.first_reading(\.[0-9]+)?)?\.json",),
    SEARCHES: (ID, r"batch-[0-9]{4,}\.json"),
}
"""Folder of a store → pattern of the names below it, level by level; the last level holds the files."""

_FOLDERS = (
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *filter(None, (*site.getsitepackages(), site.getusersitepackages())),
    *(str(Path(__file__).parents[1] / name) for name in ("plasticity_lab", "launch", "analysis")),
)
_INSTALLED = tuple({f"{place(folder)}{os.sep}" for folder in _FOLDERS for place in (os.path.abspath, os.path.realpath)})
"""The interpreter's libraries and this package: they stay usable in a folder that is also a store."""


def is_kept(name: str) -> bool:
    """Whether a permanent file of a store has this name.  name: relative to the store's folder, with slashes."""
    part, *pieces = name.split("/")
    levels = LAYOUT.get(part, ())
    return name == REPORT or (
        len(pieces) == len(levels) > 0
        and (part != RUNS or pieces[1].startswith(pieces[0]))
        and all(re.fullmatch(level, piece) for level, piece in zip(levels, pieces, strict=True))
    )


def store_around(path: str | os.PathLike[str]) -> str | None:
    """The store that holds a file or folder, or is the folder; None without a store, and for installed code.

    A link counts at its path and at its target.
    """
    for resolved in (os.path.abspath, os.path.realpath):
        place = resolved(path)
        if f"{place}{os.sep}".startswith(_INSTALLED):
            return None
        for folder in (place, *map(str, Path(place).parents)):
            if any(_holds(os.path.join(folder, part), levels) for part, levels in LAYOUT.items()):
                return folder
    return None


def _holds(folder: str, levels: Sequence[str]) -> bool:
    """Whether a folder has any permanent file of a store, at its path in a store."""
    try:
        with os.scandir(folder) as entries:
            fitting = (entry.path for entry in entries if re.fullmatch(levels[0], entry.name))
            return any(len(levels) == 1 or _holds(path, levels[1:]) for path in fitting)
    except OSError:  # the folder does not exist, or cannot be read, so no code can be read from it
        return False
