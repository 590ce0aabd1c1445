"""Checks classes: before anything is planned or written, those from outside the package that a command names.

A class that passed is marked in the user's cache, by a digest of all that counts. It is checked again after any change
of its file or of the package.
"""

import contextlib
import functools
import hashlib
import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from launch.own_classes.named import Fault, OwnClass, own_classes, place
from launch.own_classes.names import contract_of, idle, misnamed, uncallable
from launch.wording import say
from plasticity_lab.errors import OwnClassError
from plasticity_lab.process.account import cache_folder
from plasticity_lab.records.own_classes import digest_of_class
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.training_code import code_digest
from plasticity_lab.run import Run

CHECK = Path(__file__).parent
MAIN = "plasticity_lab.main"
"""The words that name a command's runs come after this word."""


class Answer(Enum):
    """The answers of a check, in words, from the best to the worst."""

    PASSED = "passed"
    NOT_TRIED = "NOT TRIED"
    FAILED = "FAILED"

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return {Answer.PASSED: 0, Answer.FAILED: 1, Answer.NOT_TRIED: 3}[self]


@dataclass(frozen=True)
class Checked:
    """The outcome of the checks on a class.

    lines: all checks that were made. notes: facts worth knowing. untried: the reason if the class was not trained.
    culprit: the class that has the faults, if it is not `own`.
    """

    own: OwnClass
    lines: Sequence[str]
    notes: Sequence[str]
    faults: Sequence[Fault]
    untried: str | None = None
    culprit: OwnClass | None = None

    @property
    def answer(self) -> Answer:
        """The answer about the class."""
        if self.faults:
            return Answer.FAILED
        return Answer.PASSED if self.untried is None else Answer.NOT_TRIED

    @property
    def sentence(self) -> str:
        """The first fault, with the class that has it and its place."""
        fault = self.faults[0]
        if self.culprit is None:
            return f"{self.own.choice}: {self.own.cls.__qualname__} ({fault.where}): {fault.what}."
        return (
            f"{self.culprit.choice}: {self.culprit.cls.__qualname__} ({place(self.culprit.cls)}): {fault.what}. "
            f"Not {self.own.choice}: small packs without it fail in the same way."
        )


def check_own_classes(runs: Sequence[Run], settings: Settings, command: Sequence[str]) -> None:
    """Checks the classes that were not checked before, and says so on stderr.  command: its words name the runs.

    Runs of `launch assay` are not checked: their parts are finished runs, and small packs have no weights to try.
    Raises OwnClassError, with the first fault and the command that shows the others.
    """
    for own in own_classes([run for run in runs if not run.is_of_assay]):
        if _mark(own).exists():
            continue
        say(f"{own.description} is from outside the package, and is checked before its first pack.")
        started = time.monotonic()
        result = checked(own, settings)
        if result.faults:
            raise OwnClassError(f"{result.sentence} All that was tried: {_check_command(command)}")
        passed = result.answer is Answer.PASSED
        if passed:
            mark(own)
        ended = "passed" if passed else "not tried; training begins all the same"
        for line in [*result.notes, f"{ended} ({time.monotonic() - started:.1f} s)."]:
            say(f"{own.choice}: {line}")


def checked(own: OwnClass, settings: Settings) -> Checked:
    """Tries everything on one class: its names, and if these are right, small packs of it."""
    contract = contract_of(own.cls)
    built = own.run.component(own.group)
    faults = [*misnamed(own.cls, contract, built), *uncallable(own.cls, contract), *idle(own.cls, contract)]
    lines = [_line("names of its methods, and their arguments", faults[0] if faults else None)]
    if faults:
        lines += [_line("the same", fault) for fault in faults[1:]]
        return Checked(own, [*lines, "not trained: a method with a wrong name would not be called."], [], faults)
    from launch.own_classes.proof import proved  # torch: a misspelt name need not wait for it
    from plasticity_lab.data.folder import data_folder

    proof = proved(own, data_folder(settings.data))
    if proof.outcomes:
        lines += [f"trained: {proof.description}", *(_line(title, fault) for title, fault in proof.outcomes)]
    culprit = proof.culprit if proof.faults and proof.culprit.group != own.group else None
    return Checked(own, [*lines, *proof.notes], proof.notes, proof.faults, proof.untried, culprit)


def _check_command(command: Sequence[str]) -> str:
    """The command that shows all checks: the command's words, after the one flag that names a folder of options."""
    words = list(command[command.index(MAIN) + 1 :]) if MAIN in command else []
    folder: list[str] = []
    for flag in ("--config-dir", "-cd"):
        if flag in words:
            at = words.index(flag)
            folder, words = ["--config-dir", *words[at + 1 : at + 2]], words[:at] + words[at + 2 :]
    folder += [word for word in words if word.startswith("--config-dir=")]
    about_runs = [word for word in words if not word.startswith("-")]
    return shlex.join(["python", "-m", "launch", "check", *folder, *about_runs])


def _line(title: str, fault: Fault | None) -> str:
    return f"{title}: {'passed' if fault is None else f'FAILED. {fault.where}: {fault.what}.'}"


def mark(own: OwnClass) -> None:
    """Marks a class as passed; if the cache cannot be written, it is checked again next time."""
    with contextlib.suppress(OSError):
        _mark(own).parent.mkdir(parents=True, exist_ok=True)
        _mark(own).touch()


def _mark(own: OwnClass) -> Path:
    return cache_folder() / "plasticity_lab" / "checked" / digest_of(own)


def digest_of(own: OwnClass) -> str:
    """All that the outcome may depend on: the class's files, the run's structure, package, versions and the check."""
    machine = {name: provenance()[name] for name in ("versions", "python", "cpu")}
    files = digest_of_class(own.run.targets[own.group])
    content = [own.group, own.run.structure(), files, machine, code_digest(), _digest_of_check()]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@functools.cache
def _digest_of_check() -> str:
    """A digest of the check's files: a class that passed an earlier, milder check is checked again."""
    files = sorted([*CHECK.glob("*.py"), *CHECK.glob("*.yaml")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
