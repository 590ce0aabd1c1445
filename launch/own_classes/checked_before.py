"""Which classes were found in order before: a small file for each in the user's cache, named by all that counts.

A class that is changed by a letter is checked again, and so is every class after a change of the package.
"""

import contextlib
import functools
import hashlib
import json
from pathlib import Path

from launch.own_classes.named import OwnClass
from plasticity_lab.process.account import cache_folder
from plasticity_lab.records.own_classes import digest_of_class
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.training_code import code_digest

CHECK = Path(__file__).parent


def marked(own: OwnClass) -> bool:
    """Whether the class was found in order before, with the same structure."""
    return _file(own).exists()


def mark(own: OwnClass) -> None:
    """Keeps in mind that it was; where the cache cannot be written, it is checked again next time."""
    with contextlib.suppress(OSError):
        _file(own).parent.mkdir(parents=True, exist_ok=True)
        _file(own).touch()


def digest_of(own: OwnClass) -> str:
    """All that the outcome may depend on: own files, the run's structure, the package, its versions and the check."""
    machine = {name: provenance()[name] for name in ("versions", "python", "cpu")}
    files = digest_of_class(own.run.targets[own.group])
    seen = [own.group, own.run.structure(), files, machine, code_digest(), _check_itself()]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


@functools.cache
def _check_itself() -> str:
    """A digest of the check's files: a class that passed an earlier, milder check is checked again."""
    digest = hashlib.sha256()
    for path in sorted(CHECK.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _file(own: OwnClass) -> Path:
    return cache_folder() / "plasticity_lab" / "checked" / digest_of(own)
