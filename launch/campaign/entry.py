"""The entries of a campaign: questions with their minutes, commands and results; read from a YAML file."""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from plasticity_lab.errors import ConfigError

PLAN = Path(__file__).with_name("plan.yaml")
DATA = ("mnist", "cifar10", "cifar100", "ale")
"""The names in `needs`: image sets, and Atari's games."""


@dataclass(frozen=True)
class Entry:
    """A question that a campaign can answer.

    minutes: the expected minutes of a study on one worker; the limit of a measurement. source: their origin (`from` in
    the file). plan: the sweep that was planned for the minutes, or "".
    commands: command lines with the placeholders of `filled`. sweeps: words of sweeps, trained in the campaign's store;
    after a stop the next campaign goes on with them.
    whole: whether it is begun only if all of it fits into the remaining time, as for agents with replay memories, which
    do not travel. needs: names of `DATA`. memory_gb: a pack's memory on the GPU; it limits the workers. workers: the
    largest number of workers, for an entry that shares the machine with others; 0: it shares it with none.
    """

    name: str
    question: str
    minutes: float
    leaves: str
    source: str = ""
    plan: str = ""
    commands: Sequence[str] = ()
    sweeps: Sequence[str] = ()
    whole: bool = False
    needs: Sequence[str] = ()
    memory_gb: float = 1.0
    workers: int = 0

    @property
    def parts(self) -> int:
        """The number of its commands and sweeps, in this order."""
        return len(self.commands) + len(self.sweeps)

    @property
    def resumes(self) -> bool:
        """Whether a part of it is worth the time: a later campaign goes on with it."""
        return bool(self.sweeps) and not self.whole

    @property
    def digest(self) -> str:
        """Changes with its commands: an entry with other commands is a new one."""
        words = json.dumps([self.commands, self.sweeps])
        return hashlib.sha256(words.encode()).hexdigest()[:12]


def read(path: Path = PLAN) -> list[Entry]:
    """The entries of a file.  Raises ConfigError."""
    try:
        lines = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"The plan of the campaign cannot be read: {error}.") from error
    if not isinstance(lines, list) or not lines:
        raise ConfigError(f"{path} has no list of entries.")
    entries = [_entry(path, line) for line in lines]
    if twice := {entry.name for entry in entries if [other.name for other in entries].count(entry.name) > 1}:
        raise ConfigError(f"{path}: the name {min(twice)} comes twice.")
    return entries


def _entry(path: Path, line: Any) -> Entry:
    if not isinstance(line, Mapping) or not isinstance(line.get("name"), str):
        raise ConfigError(f"{path}: an entry has no name.")
    name, known = line["name"], {each.name for each in fields(Entry)} - {"source"} | {"from"}
    if unknown := line.keys() - known:
        raise ConfigError(f"{path}: {name} has {', '.join(sorted(unknown))}; fields are {', '.join(sorted(known))}.")
    if lacks := {"question", "minutes", "leaves"} - line.keys():
        raise ConfigError(f"{path}: {name} lacks {', '.join(sorted(lacks))}.")
    entry = Entry(**{"source" if key == "from" else key: value for key, value in line.items()})
    if not isinstance(entry.minutes, int | float) or not entry.minutes > 0:
        raise ConfigError(f"{path}: {name}.minutes is {entry.minutes!r}; it must be a number above 0.")
    if not isinstance(entry.workers, int) or entry.workers < 0:
        raise ConfigError(f"{path}: {name}.workers is {entry.workers!r}; it must be a whole number, at least 1.")
    if not entry.parts or not (entry.source or entry.plan):
        raise ConfigError(
            f"{path}: {name} needs commands or sweeps, and either from or plan, the origin of its minutes."
        )
    if not all(isinstance(words, str) for words in (*entry.commands, *entry.sweeps)):
        raise ConfigError(f"{path}: each command and each sweep of {name} must be one text.")
    if strange := set(entry.needs) - set(DATA):
        raise ConfigError(f"{path}: {name} needs {min(strange)}, which is none of {', '.join(DATA)}.")
    return entry


def filled(entry: Entry, part: int, values: Mapping[str, str], workers: int) -> list[str]:
    """The words of one of its commands or sweeps.

    values: python, device, out, store, and data ("" if the campaign brought no images).
    """
    if part < len(entry.commands):
        return [word.format_map(values) for word in shlex.split(entry.commands[part])]
    sweep = shlex.split(entry.sweeps[part - len(entry.commands)])
    data = [f"data={values['data']}"] if values["data"] else []
    own = [f"device={values['device']}", f"store={values['store']}", f"launch.workers={workers}", *data]
    return [values["python"], "-m", "plasticity_lab.main", *sweep, *own, "checkpoint_minutes=1"]
