"""The code and the kind of device that train a pack, part by part.

A pack can be begun by one version of the code and finished by another; and on another kind of device, if an earlier
version did not store its kind. A checkpoint keeps the parts, and so do records of runs with more than one part.

The digest of the code covers plasticity_lab/ and the files of launch/ that run in a worker's process. A command must
find the same files as a worker, although it has imported others. So imports are read from the text of the files, not
from the loaded modules: 60 files in 7 ms.
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
"""The flag of a record if one code began its run and another finished it."""
MIXED_KIND = "mixed_kind"
"""The flag of a record if its run was finished on another kind of device than it was begun on."""
REFILLED = "memory_refilled"
"""The flag of a record if its replay memory was lost and began empty again: its numbers differ from a whole run's."""
_LABORATORY = ("plasticity_lab", "launch")
_SUFFIXES = (".py", ".cpp", ".h", ".json")
_OTHERS = ("plasticity_lab", "hydra-core")
"""Packages with versions that change no number; ours is identified by its files."""
UNKNOWN: Mapping[str, Any] = {
    "from_step": 0,
    "commit": None,
    "dirty": None,
    "code": None,
    "versions": {},
    "classes": {},
    "kind": None,
}
"""The first part of a pack if its checkpoint does not name the code: earlier versions did not store it."""


class _Files:
    """Hashes of the files that decide numbers, as this process runs them.

    Files are hashed when it begins; a module imported later is hashed then.
    """

    def __init__(self) -> None:
        folder = CHECKOUT / "plasticity_lab"
        every = [path for path in folder.rglob("*") if path.suffix in _SUFFIXES]
        self._hashes = {path: _hash_of(path) for path in [*every, *files_of_worker(CHECKOUT)]}
        self._imported: set[str] = set()
        self.digest()

    def digest(self) -> str:
        """12 hex digits of all files."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] not in _LABORATORY or name in self._imported:
                continue
            self._imported.add(name)
            path = Path(getattr(module, "__file__", None) or "")
            # A command also imports modules of launch that workers do not run.
            if path in self._hashes or CHECKOUT / "plasticity_lab" in path.parents:
                self._hashes[path] = _hash_of(path)
        words = [f"{path.relative_to(CHECKOUT)} {known}" for path, known in sorted(self._hashes.items())]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


@functools.cache
def _files() -> _Files:
    return _Files()


def code_digest() -> str:
    """12 hex digits of the code that decides numbers, committed or not.

    It covers every source file of plasticity_lab/, and the files of launch/ that run in a worker's process. A worker
    calls it at its start, so that it does not count later edits.
    """
    return _files().digest()


def trained_by(targets: Mapping[str, str], packages: Collection[str] = (), kind: str | None = None) -> dict[str, Any]:
    """The part that this process would train: commit, dirty, code, versions that count, users' classes, kind.

    targets: group → class. packages: further packages, in addition to torch and NumPy, with versions that may change
    numbers. kind: the kind of device; None if it is unknown.
    Raises ConfigError if a class cannot be imported.
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
    """The parts of a training that continues at a step.  earlier: the parts so far. now: as `trained_by` returns it.

    The last part continues if no code and no kind differs.
    """
    kept = [dict(part) for part in earlier if part["from_step"] < step]
    same = bool(kept) and not differences(kept[-1], now) and not other_kind(kept[-1], now)
    return kept if same else [*kept, {"from_step": step, **now}]


def flags_of_parts(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The flags MIXED and MIXED_KIND, if the parts of a pack differ."""
    pairs = list(itertools.pairwise(parts))
    flags = {MIXED: differences, MIXED_KIND: other_kind}
    return [flag for flag, compare in flags.items() if any(compare(part, later) for part, later in pairs)]


def made_by(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries in the provenance of a pack's records: the last part's code, and the parts if there are several."""
    entries: dict[str, Any] = {"code": parts[-1]["code"]}
    if parts[-1]["classes"]:
        entries["classes"] = parts[-1]["classes"]
    if len(parts) > 1:
        entries["parts"] = [dict(part) for part in parts]
    return entries


def other_kind(part: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The kinds of two parts in words if they differ, «device … → …»; otherwise empty."""
    before, after = part.get("kind"), now.get("kind")
    return "" if before == after else f"device {before or 'that is not known'} → {after or 'that is not known'}"


def differences(part: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences in code between two parts, in words: «commit 1234567 → 89abcde»."""
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
    """The differences in code between a pack's training so far and its continuation here, in words.

    parts: from its checkpoint or its progress. targets: the classes of its runs.  Raises ConfigError.
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
"""The entry modules of a worker's process, on this machine and in a Slurm job."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(launch(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(launch(?:\.\w+)*))",
    re.MULTILINE,
)
"""Also inside functions. The linter forbids relative imports, and several modules after `import`."""
_COMMENT = re.compile(r"#[^\n]*")


def files_of_worker(checkout: Path) -> list[Path]:
    """The files of the entry modules, all modules that they import, and the packages around these, sorted."""
    files: dict[str, Path] = {}
    left = [*ENTRIES]
    while left:
        name = left.pop()
        path = checkout.joinpath(*name.split("."))
        file = next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
        if not name or name in files or file is None:  # None for the name of a function, for example
            continue
        files[name] = file
        left += [name.rpartition(".")[0], *_imported(file)]
    return sorted(files.values())


def _imported(path: Path) -> Iterator[str]:
    """The names that a file imports from launch, also of functions and classes."""
    try:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    except OSError:
        return
    for source, members, alone in _IMPORT.findall(text):
        yield source or alone
        yield from (f"{source}.{member}" for member in re.findall(r"\w+", members))
