"""Answers of the package's classes, kept in the user's cache: a command that asks again need not import torch for it.

An answer (the settings of a class, whether it takes certain values, their part in the run id) follows from the question
alone: from classes of this package, the settings given to them, the files of the package and the installed versions. A
digest of the files and versions names the file that keeps the answers. Questions about a class from outside the package
are never answered from it. The file holds data, nothing of it is run, and it is used only if it belongs to the user.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from launch.runs.files import CONF
from plasticity_lab.named_code import PACKAGE
from plasticity_lab.process.account import cache_folder

T = TypeVar("T")
MOST = 20_000
"""The most answers in a file. A file that would have more starts over with the last command's answers."""
DIGESTS = 4
"""The most files; the ones written longest ago are removed."""
_PARTS = {"plasticity_lab": None, "launch": {".py"}, "conf": {".yaml", ".csv"}}
"""Folder → the endings of its files that may decide an answer; None for all files."""
_PLAIN = (str, int, float, bool, type(None))
_OTHERS = 0o022
"""Write permission of group and others, which the file must not have."""


class _Book:
    """The answers that this process knows.

    known: read from the file. new: given since. mixed: whether a class from outside the package was asked. Such a class
    may have changed the package's classes.
    """

    def __init__(self) -> None:
        self.digest = _digest()
        self.known = _read(_file(self.digest))
        self.new: dict[str, str] = {}
        self.mixed = False

    def save(self) -> None:
        """Keeps the new answers for later commands, unless a file was edited while the command ran."""
        if not self.new or self.mixed or _digest() != self.digest:
            return
        path = _file(self.digest)
        answers = {**_read(path), **self.new}
        with contextlib.suppress(OSError):
            _write(path, answers if len(answers) <= MOST else self.new)
            _clear(path)
        self.known, self.new = {**self.known, **self.new}, {}


_books: list[_Book] = []
"""The book of the command that this process carries out; none in a process that only calls the laboratory."""


@contextlib.contextmanager
def answers_kept() -> Iterator[None]:
    """While this lasts, answers come from the user's cache if it has them.

    It is for a process that carries out a single command: elsewhere, as in tests, classes may change between commands.
    """
    _books.append(_Book())
    try:
        yield
    finally:
        _books.pop()


def save_answers() -> None:
    """Keeps the answers to this command's questions; a cache that cannot be written is left as it is."""
    for book in _books:
        book.save()


def answer(question: str, classes: Sequence[str], given: Any, ask: Callable[[], T]) -> T:
    """The answer to a question about classes, which `ask` finds by importing them.

    classes: all that the answer depends on, as `_target_` names them. given: all else that it depends on. An answer is
    kept if it consists of JSON's types. Raises what `ask` raises; errors are not kept.
    """
    book = _books[-1] if _books else None
    if book is None:
        return ask()
    if not all(target.partition(".")[0] == PACKAGE for target in classes):
        book.mixed = True
        return ask()
    if not _is_plain(given):
        return ask()
    # Unlike JSON, `repr` distinguishes lists from tuples, and the keys 1 and "1".
    key = hashlib.sha256(repr((question, list(classes), given)).encode()).hexdigest()[:32]
    for answers in (book.known, book.new):
        if key in answers:
            return json.loads(answers[key])
    value = ask()
    if _is_plain(value):
        book.new[key] = json.dumps(value)  # the caller may change the answer
    return value


def _is_plain(value: Any) -> bool:
    """Whether a value is the same after it was written as JSON and read again."""
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and _is_plain(each) for key, each in value.items())
    return type(value) in _PLAIN


def _digest() -> str:
    """40 hex digits of all that decides answers: our files, Python, and which distributions are installed where."""
    # The current folder comes last, so it replaces nothing that is found elsewhere.
    here = {"", str(CONF.parent / "launch" / "_plugins")}  # Hydra's plugins: only commands have them in their path
    with contextlib.suppress(FileNotFoundError):  # a folder that was removed; the command reports it itself
        here.add(os.getcwd())
    places = [place for place in sys.path if place not in here]
    digest = hashlib.sha256(repr((sys.version, sys.flags.optimize, places, os.environ.get("PYTHONPATH"))).encode())
    for folder, endings in _PARTS.items():
        for path in sorted(_files(CONF.parent / folder)):
            if endings is None or os.path.splitext(path)[1] in endings:
                digest.update(f"\n{path} ".encode())
                digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    for place in places:
        with contextlib.suppress(OSError):
            digest.update("\n".join(sorted(each for each in os.listdir(place) if each.endswith("-info"))).encode())
    return digest.hexdigest()[:40]


def _files(folder: Path) -> Iterator[str]:
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (os.path.join(at, name) for name in files)


def _file(digest: str) -> Path:
    return cache_folder() / "plasticity_lab" / "answers" / f"{digest}.json"


def _read(path: Path) -> dict[str, str]:
    """The answers in a file; none if it is damaged, or if another user may have written it."""
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            if state.st_uid != os.getuid() or state.st_mode & _OTHERS:
                return {}
            seal, _, content = file.read().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != seal:
            return {}
        answers = json.loads(content)
    except (OSError, ValueError):
        return {}
    return answers if isinstance(answers, dict) else {}


def _write(path: Path, answers: dict[str, str]) -> None:
    """Puts the file in its place, whole.  Raises OSError."""
    content = json.dumps(answers, separators=(",", ":")).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _clear(path: Path) -> None:
    """Removes the files of other code that were written longest ago.  Raises OSError."""
    others = sorted(path.parent.glob("*.json"), key=lambda other: other.stat().st_mtime, reverse=True)
    for other in others[DIGESTS:]:
        other.unlink(missing_ok=True)
