"""A registration: a hypothesis with the runs, the metric and the test that decide it; and its file."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.damage import read_mapping
from plasticity_lab.records.files import create_once
from plasticity_lab.records.first_readings import COPY, NAME, registered
from plasticity_lab.records.identity import canonical_json
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.store import Store

FORMAT = 1
WELCH, PAIRED = "welch", "paired"
TESTS = {WELCH: "Welch's test", PAIRED: "the paired t-test"}
DIGITS = 12
"""The number of shown digits of a hash."""


@dataclass(frozen=True)
class Registration:
    """The fixed parts of a study.

    runs: id → `arm`, `task` (benchmark or game) and `seed` of each registered run. arms: in the order of the table.
    filters, where: the options of `compare` that select the runs. beside: other runs of the same study that existed or
    were planned then, as from a trial; they are not registered. registered: the time (UTC, ISO 8601). commit, code:
    the laboratory's commit at that time, and the digest of its code; registrations of earlier versions have no code.
    """

    name: str
    hypothesis: str
    by: str
    arms: Sequence[str]
    against: str
    metric: str
    test: str
    filters: Mapping[str, Sequence[str]]
    where: Sequence[str]
    runs: Mapping[str, Mapping[str, Any]]
    beside: Sequence[str]
    registered: str
    commit: str | None
    format: int = FORMAT
    code: str | None = None

    @property
    def hash(self) -> str:
        """A hash of all fields, 64 hexadecimal digits."""
        return _hash(self.as_json())

    def as_json(self) -> dict[str, Any]:
        """The content of its file, without the hash."""
        return {name: value for name, value in asdict(self).items() if name != "code" or value is not None}


@dataclass(frozen=True)
class Read:
    """A registration read from its file.  unchanged: whether the hash in the file still matches its content."""

    registration: Registration
    unchanged: bool


def write(store: Store, registration: Registration) -> None:
    """Writes the file; it is never overwritten.  Raises ConfigError if the name is taken or invalid, StoreError."""
    name = registration.name
    if not NAME.fullmatch(name):
        raise ConfigError(f"'{name}' cannot be the name of a file; use small letters, digits, _ and -.")
    content = {**registration.as_json(), "hash": registration.hash}
    path = store.registration(name)
    if not create_once(path, json.dumps(content, indent=1, ensure_ascii=False).encode()):
        before = read(store, name).registration.registered
        raise ConfigError(f"'{name}' was preregistered on {before}, and stays as it is; choose another name.")


def read(store: Store, name: str) -> Read:
    """The registration with that name.

    Raises ConfigError, naming the existing registrations, if none has that name. Raises StoreError if the file cannot
    be read.
    """
    path = store.registration(name)
    value = read_mapping(path, COPY)
    if value is None:
        there = ", ".join(registered(store)) or "none"
        raise ConfigError(f"Nothing is preregistered as '{name}' in {store.root}; there is {there}.")
    written = value.pop("hash", None)
    try:
        found = Registration(**value)
        datetime.fromisoformat(found.registered)
        known = all(of["arm"] in found.arms for of in found.runs.values())
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise StoreError(f"{path} is no preregistration of this version, or was changed: {error}.") from error
    if not known:
        raise StoreError(f"{path} was changed: it has runs of arms that it does not name.")
    return Read(found, written == _hash(value))


def seal_of(store: Store, registration: Registration) -> str:
    """One hash of a registration with its code, and of the planned settings and classes of its runs, 64 digits.

    Published outside of the store it shows later that none of them was replaced.  Raises StoreError.
    """
    plans = [read_plan(store, sweep).runs for sweep in sweeps_of(store)]
    runs = {
        name: {"science": run.science, "targets": dict(run.targets)}
        for planned in plans
        for name, run in planned.items()
        if name in registration.runs
    }
    return _hash({"registration": registration.hash, "plan": runs})


def registered_too(store: Store, registration: Registration) -> list[str]:
    """A sentence for each other registration of the same runs.  Raises StoreError."""
    others = {name: read(store, name).registration.runs for name in registered(store) if name != registration.name}
    shared = {name: len(runs.keys() & registration.runs.keys()) for name, runs in others.items()}
    return [f"{count} of its runs are registered as {name} too." for name, count in shared.items() if count]


def _hash(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(value, "the registration").encode()).hexdigest()
