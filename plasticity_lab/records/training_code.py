"""By which code and on which kind of device a pack is trained, part by part.

It can be begun by one code and finished by another; and on another kind, where an earlier version did not keep its own.

A checkpoint keeps the parts, and so do the records of runs that have more than one.
"""

import functools
import hashlib
import itertools
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plasticity_lab.records.own_classes import digests_of_classes, same_code
from plasticity_lab.records.provenance import CHECKOUT, provenance, version_of

MIXED = "mixed_code"
"""The flag of a record whose run was begun by one code and finished by another."""
MIXED_KIND = "mixed_kind"
"""The flag of one whose run was finished on another kind of device than it was begun on, as far as is known."""
REFILLED = "memory_refilled"
"""The flag of one whose replay memory was lost and began empty again: it is not the undisturbed run's equal."""
_LABORATORY = ("plasticity_lab", "launch")
_SUFFIXES = (".py", ".cpp", ".h", ".json")
_OTHERS = ("plasticity_lab", "hydra-core")
"""Packages of whose versions no number depends: ours is identified by its files."""
UNKNOWN: Mapping[str, Any] = {
    "from_step": 0,
    "commit": None,
    "dirty": None,
    "code": None,
    "versions": {},
    "classes": {},
    "kind": None,
}
"""The first part of a pack whose checkpoint does not say by what it was trained: earlier versions did not keep it."""


class _Files:
    """The files that decide numbers, as this process runs them: as they were when it began, and modules imported later
    as they were then.
    """

    def __init__(self) -> None:
        folder = CHECKOUT / "plasticity_lab"
        every = [path for path in folder.rglob("*") if path.suffix in _SUFFIXES]
        self._hashes = {path: _hash_of(path) for path in [*every, *files_of_worker(CHECKOUT)]}
        self._imported: set[str] = set()
        self.look()

    def look(self) -> str:
        """12 hex digits of all of them."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] not in _LABORATORY or name in self._imported:
                continue
            self._imported.add(name)
            path = Path(getattr(module, "__file__", None) or "")
            # A command also imports modules of launch that no worker runs.
            if path in self._hashes or CHECKOUT / "plasticity_lab" in path.parents:
                self._hashes[path] = _hash_of(path)
        words = [f"{path.relative_to(CHECKOUT)} {known}" for path, known in sorted(self._hashes.items())]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


@functools.cache
def _files() -> _Files:
    return _Files()


def code_digest() -> str:
    """12 hex digits of the code that decides numbers, committed or not.

    It holds every source file of plasticity_lab/, and the files of launch/ that run in a worker's process.
    Whoever trains asks for it once at the start, so that an edit while it runs is not taken for its code.
    """
    return _files().look()


def trained_by(targets: Mapping[str, str], packages: Collection[str] = (), kind: str | None = None) -> dict[str, Any]:
    """By what this process would train runs: commit, dirty, code, versions that count, classes of one's own, kind.

    targets: group → class. packages: beside torch and NumPy, those by whose versions numbers may differ. kind: of the
    device; None where it is not known.
    Raises ConfigError where a class cannot be imported.
    """
    made = provenance(packages)
    return {
        "commit": made["commit"],
        "dirty": made["dirty"],
        "code": code_digest(),
        "versions": {name: version for name, version in made["versions"].items() if name not in _OTHERS},
        "classes": digests_of_classes(targets),
        "kind": kind,
    }


def parts_from(earlier: Sequence[Mapping[str, Any]], now: Mapping[str, Any], step: int) -> list[dict[str, Any]]:
    """The parts of a training that goes on at a step by what `trained_by` says; earlier: those so far.

    It is the same part still where nothing that decides numbers differs.
    """
    kept = [dict(part) for part in earlier if part["from_step"] < step]
    same = bool(kept) and not differences(kept[-1], now) and not other_kind(kept[-1], now)
    return kept if same else [*kept, {"from_step": step, **now}]


def flags_of_parts(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """In what the parts of a pack differ: MIXED, MIXED_KIND."""
    pairs = list(itertools.pairwise(parts))
    mixed = [MIXED] if any(differences(part, later) for part, later in pairs) else []
    return mixed + ([MIXED_KIND] if any(other_kind(part, later) for part, later in pairs) else [])


def made_by(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the provenance of a pack's records says: the code that ended it, and the parts if there are several."""
    last = parts[-1]
    found = {"code": last["code"]} | ({"classes": last["classes"]} if last["classes"] else {})
    return found | ({"parts": [dict(part) for part in parts]} if len(parts) > 1 else {})


def other_kind(part: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The kinds of a part and of what `trained_by` says, in words, where they differ: «device … → …»; else nothing."""
    before, after = part.get("kind"), now.get("kind")
    return "" if before == after else f"device {before or 'that is not known'} → {after or 'that is not known'}"


def differences(part: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs in code between a part and what `trained_by` says, in words: «commit 1234567 → 89abcde»."""
    found = []
    if part["code"] != now["code"]:
        found.append(f"code {_in_words(part)} → {_in_words(now)}")
    for name, version in now["versions"].items():
        if name in part["versions"] and part["versions"][name] != version:
            found.append(f"{name} {part['versions'][name]} → {version}")
    for target in sorted({*part["classes"], *now["classes"]}):
        if part["code"] is not None and not same_code(part["classes"].get(target), now["classes"].get(target)):
            found.append(f"{target} has changed")
    return found


def other_code(parts: Sequence[Mapping[str, Any]], targets: Mapping[str, str]) -> list[str]:
    """What differs between how a pack was trained so far and how it would go on here, in words.

    parts: as its checkpoint or its progress has them. targets: the classes of its runs.  Raises ConfigError.
    """
    packages = {name for part in parts for name in part["versions"]}
    now = trained_by(targets)
    now["versions"] = {name: version_of(name) for name in sorted(packages)}
    return list(dict.fromkeys(words for part in parts for words in differences(part, now)))


def _in_words(part: Mapping[str, Any]) -> str:
    """«9f86d081884c (commit 1234567, with changes)»."""
    if part["code"] is None:
        return "that is not known"
    changes = ", with changes" if part["dirty"] else ""
    return part["code"] + (f" (commit {part['commit'][:12]}{changes})" if part["commit"] else "")


def _hash_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "cannot be read"


ENTRIES = ("launch.work.worker", "launch.launchers.slurm.job")
"""The first modules of a worker's process, on this machine and in a job of Slurm."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(launch(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(launch(?:\.\w+)*))",
    re.MULTILINE,
)
"""Also inside functions. The linter allows no relative imports, and one module after `import`."""
_COMMENT = re.compile(r"#[^\n]*")


def files_of_worker(checkout: Path) -> list[Path]:
    """The files of the entries, of the modules that they import, and of the packages around these, sorted."""
    found: dict[str, Path] = {}
    left = [*ENTRIES]
    while left:
        name = left.pop()
        if name in found or (path := _file(checkout, name)) is None:
            continue
        found[name] = path
        left += [name.rpartition(".")[0], *_imported(path)]
    return sorted(found.values())


def _file(checkout: Path, name: str) -> Path | None:
    """The file of a module; None for a name that is no module, for example a function's."""
    if not name:
        return None
    path = checkout.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _imported(path: Path) -> Iterator[str]:
    """The names that a file imports from launch; some are functions and classes."""
    try:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    except OSError:
        return
    for source, members, alone in _IMPORT.findall(text):
        yield source or alone
        yield from (f"{source}.{member}" for member in re.findall(r"\w+", members))
