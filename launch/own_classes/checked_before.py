"""Which classes were found in order before: a small file for each in the user's cache, named by all that counts.

A class that is changed by a letter is checked again, and so is every class after a change of the package.
"""

import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path

from launch.own_classes.named import OwnClass, own_bases
from plasticity_lab.records.code import code_here
from plasticity_lab.records.provenance import provenance


def marked(own: OwnClass) -> bool:
    """Whether the class was found in order before, with the same structure; never where the package has no commit."""
    return code_here()["commit"] is not None and _file(own).exists()


def mark(own: OwnClass) -> None:
    """Keeps in mind that it was; where the cache cannot be written, it is checked again next time."""
    with contextlib.suppress(OSError):
        _file(own).parent.mkdir(parents=True, exist_ok=True)
        _file(own).touch()


def digest_of(own: OwnClass) -> str:
    """All that the outcome of a check may depend on: own files, structure of the run, the package and its versions."""
    files = {name: hashlib.sha256(content).hexdigest() for name, content in _own_files(own).items()}
    machine = {name: provenance()[name] for name in ("versions", "python", "cpu")}
    seen = [own.group, own.run.structure(), files, machine, code_here()]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def _own_files(own: OwnClass) -> dict[str, bytes]:
    """The files of the class and its bases, and those of the modules beside them that have been imported."""
    modules = [sys.modules.get(base.__module__) for base in own_bases(own.cls)]
    folders = {Path(module.__file__).parent for module in modules if module is not None and module.__file__}
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        beside = file and any(folder in Path(file).parents for folder in folders)
        if beside and "site-packages" not in Path(file).parts[:-2]:  # a clone may hold its environment
            with contextlib.suppress(OSError):
                found[file] = Path(file).read_bytes()
    return found


def _file(own: OwnClass) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "plasticity_lab" / "checked" / digest_of(own)
