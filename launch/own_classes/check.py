"""Every class from outside the package that a command names, checked before anything is planned or written."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass

from launch.own_classes.checked_before import mark, marked
from launch.own_classes.named import Fault, OwnClass, own_classes
from launch.own_classes.names import contract_of, idle, misnamed, uncallable
from launch.wording import say
from plasticity_lab.errors import OwnClassError
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Checked:
    """What was tried on a class, as lines; what is worth knowing of it; and what is wrong with it."""

    own: OwnClass
    lines: Sequence[str]
    notes: Sequence[str]
    faults: Sequence[Fault]

    @property
    def sentence(self) -> str:
        """The first fault, with the class and its place."""
        fault = self.faults[0]
        return f"{self.own.choice}: {self.own.cls.__qualname__} ({fault.where}): {fault.what}."


MAIN = "plasticity_lab.main"
"""Behind this word of a command stand those by which its runs are asked for."""


def check_own_classes(runs: Sequence[Run], settings: Settings, command: Sequence[str]) -> None:
    """Checks those that were not checked before; says so on stderr.  command: by which the runs were asked for.

    Raises OwnClassError, with the first thing that is wrong and the command that shows the rest.
    """
    for own in own_classes(runs):
        if marked(own):
            continue
        say(f"{own.description} is from outside the package, and is checked before its first pack.")
        begun = time.monotonic()
        found = checked(own, settings)
        if found.faults:
            raise OwnClassError(f"{found.sentence} All that was tried: {_shown(command)}")
        mark(own)
        for line in [*found.notes, f"in order ({time.monotonic() - begun:.1f} s)."]:
            say(f"{own.choice}: {line}")


def checked(own: OwnClass, settings: Settings) -> Checked:
    """Tries everything on one class: its names, and, where these are in order, small packs of it."""
    contract = contract_of(own.cls)
    built = own.run.component(own.group)
    faults = [*misnamed(own.cls, contract, built), *uncallable(own.cls, contract), *idle(own.cls, contract)]
    lines = [_line("names of its verbs, and what they take", faults[0] if faults else None)]
    if faults:
        lines += [_line("the same", fault) for fault in faults[1:]]
        return Checked(own, [*lines, "not trained: a verb of a wrong name would not be called."], [], faults)
    from launch.own_classes.proof import proved  # torch: a misspelt verb need not wait for it
    from plasticity_lab.data.folder import data_folder

    proof = proved(own, data_folder(settings.data))
    if proof.outcomes:
        asked = ", ".join(f"{verb} {count}" for verb, count in proof.asked.items())
        lines += [f"trained: {proof.description}; {proof.updates} updates each{f'; calls: {asked}' if asked else ''}"]
        lines += [_line(title, fault) for title, fault in proof.outcomes]
    elif proof.faults:
        lines += [f"trained: {proof.description}", _line("a run alone", proof.faults[0])]
    return Checked(own, [*lines, *proof.notes], proof.notes, proof.faults)


def _shown(command: Sequence[str]) -> str:
    """The command that shows everything that is tried: the words, behind the one flag that says where options lie."""
    words = list(command[command.index(MAIN) + 1 :]) if MAIN in command else []
    folder: list[str] = []
    for flag in ("--config-dir", "-cd"):
        if flag in words:
            at = words.index(flag)
            folder, words = ["--config-dir", *words[at + 1 : at + 2]], words[:at] + words[at + 2 :]
    folder += [word for word in words if word.startswith("--config-dir=")]
    about = [word for word in words if not word.startswith("-")]
    return shlex.join(["python", "-m", "launch", "check", *folder, *about])


def _line(what: str, fault: Fault | None) -> str:
    return f"{what}: {'in order' if fault is None else f'NOT in order. {fault.where}: {fault.what}.'}"
