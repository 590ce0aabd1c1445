"""A registration: a hypothesis with the runs, the metric and the test that decide it; its file, and its state.

The state says whether a study is still as it was fixed: kept, open while runs have not ended, or broken, with the
reasons.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from analysis.compare.sections import sections
from analysis.compare.setting import listed, task_of, word
from analysis.rows import Row
from analysis.where import some_of
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.damage import read_mapping
from plasticity_lab.records.files import create_once, names
from plasticity_lab.records.identity import canonical_json
from plasticity_lab.records.provenance import utc_now
from plasticity_lab.records.record import checked_content, read_record
from plasticity_lab.records.record_facts import FINISHED, CorruptRecord, digest_of, is_as_written
from plasticity_lab.records.store import Store

FORMAT = 1
WELCH, PAIRED = "welch", "paired"
TESTS = {WELCH: "Welch's test", PAIRED: "the paired t-test"}
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
DIGITS = 12
"""The number of shown digits of a hash."""


@dataclass(frozen=True)
class Registration:
    """The fixed parts of a study.

    runs: id → `arm`, `task` (benchmark or game) and `seed` of each registered run. arms: in the order of the table.
    filters, where: the options of `compare` that select the runs. beside: other runs of the same study that existed or
    were planned then, as from a trial; they are not registered. registered: the time (UTC, ISO 8601). commit: the
    laboratory's commit at that time.
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

    @property
    def hash(self) -> str:
        """A hash of all fields, 64 hexadecimal digits."""
        return _hash(asdict(self))


@dataclass(frozen=True)
class Read:
    """A registration read from its file.  unchanged: whether the hash in the file still matches its content."""

    registration: Registration
    unchanged: bool


def write(store: Store, registration: Registration) -> None:
    """Writes the file; it is never overwritten.  Raises ConfigError if the name is taken or invalid, StoreError."""
    name = registration.name
    if not NAME.fullmatch(name) or name.endswith(".first_reading"):
        raise ConfigError(f"'{name}' cannot be the name of a file; use small letters, digits, _ and -.")
    content = {**asdict(registration), "hash": registration.hash}
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
    value = read_mapping(path, "only a copy of it can replace it")
    if value is None:
        there = ", ".join(all_names(store)) or "none"
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


def all_names(store: Store) -> list[str]:
    """The names of all registrations in a store, sorted."""
    if not store.registrations_folder.is_dir():
        return []
    files = [name.removesuffix(".json") for name in names(store.registrations_folder) if name.endswith(".json")]
    return sorted(name for name in files if NAME.fullmatch(name))


def _hash(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(value, "the registration").encode()).hexdigest()


@dataclass(frozen=True)
class State:
    """broken: the changes, each as the end of a sentence. ended: how many of the registration's runs have ended."""

    broken: Sequence[str]
    ended: int
    runs: int

    @property
    def kept(self) -> bool:
        """Whether all runs have ended and nothing was changed."""
        return not self.broken and self.ended == self.runs

    @property
    def words(self) -> str:
        """kept, open or broken, and why."""
        if self.broken:
            return f"broken: {'; '.join(self.broken)}"
        return "kept" if self.kept else f"open, {self.ended} of {self.runs} runs have ended"


def state_of(store: Store, read: Read, rows: Sequence[Row]) -> State:
    """The state of a registration.

    rows: all of the store, unfiltered. If all of its runs have ended and nothing is broken, their digests are stored
    from now on, which reveals later changes.  Raises StoreError.
    """
    registration = read.registration
    records, faults = _records(store, registration)
    ended = {run for run, record in records.items() if record["status"] in FINISHED}
    early = [run for run in ended if _began(records[run]) < datetime.fromisoformat(registration.registered)]
    changed = [run for run in ended if not is_as_written(records[run])]
    broken = [] if read.unchanged else ["its file was changed after it was written"]
    broken += _said(early, "began before it was registered")
    broken += _said(changed, "changed after they were recorded")
    broken += _said(faults, "left files that were changed after they were written")
    first = _first_reading(store, registration)
    digests = {run: digest_of(records[run]) for run in ended}
    if first:
        broken += [] if first["hash"] == registration.hash else ["it is not the one of the first reading"]
        since = f"since the first reading of {first['read']}"
        known = first["records"]
        broken += _said([run for run in known if run not in records], f"are gone {since}")
        other = [run for run in known if run in records and digests.get(run) != known[run]]
        broken += _said(other, f"were changed or trained again {since}")
    broken += _added(registration, rows)
    state = State(broken, len(ended), len(registration.runs))
    if state.kept and not first:
        content = {"hash": registration.hash, "read": utc_now(), "records": dict(sorted(digests.items()))}
        create_once(store.first_reading(registration.name), json.dumps(content, indent=1).encode())
    return state


def beside(rows: Sequence[Row], by: str, runs: Collection[str]) -> list[tuple[str, Row]]:
    """The rows that differ from the rows of these runs only in the arm or the seed, each with its arm.

    Runs on another benchmark or game, or with other settings, belong to another study.
    """
    tasks = {task_of(row) for row in rows if row.run in runs}
    alike = [row for row in rows if by == "benchmark" or task_of(row) in tasks]
    try:
        found, _ = sections(alike, by)
    except ConfigError:  # fewer than two arms are left
        return []
    left = {row.run for row in alike if row.run in runs}
    # Runs of one arm can also belong to another study with other settings for all arms.
    return [
        (arm, row)
        for section in found
        if left <= {row.run for row in section.rows}
        for arms in section.strata.values()
        for arm, of in arms.items()
        for row in of
        if row.run not in runs
    ]


def _records(store: Store, registration: Registration) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Run → its record; and the runs with a file that has changed since it was written."""
    found, faults = {}, []
    for run in registration.runs:
        try:
            record = read_record(store, run)
            if record is not None:
                found[run] = record
                checked_content(store, run, store.metrics(run))
        except CorruptRecord:
            faults.append(run)
    return found, faults


def _began(record: Mapping[str, Any]) -> datetime:
    """When the training of a run began; the earliest possible time if its record does not say."""
    start = record["provenance"].get("start")
    return datetime.fromisoformat(start or "0001-01-01T00:00:00+00:00")


def _added(registration: Registration, rows: Sequence[Row]) -> list[str]:
    """Arms and seeds of the study that came later."""
    known = {*registration.runs, *registration.beside}
    seeds: dict[str, set[str]] = {}
    for arm, row in beside(rows, registration.by, registration.runs):
        if row.run not in known:
            seeds.setdefault(arm, set()).add(word(row.seeds[0]))
    new_arms = [arm for arm in seeds if arm not in registration.arms]
    more = [f"{arm}: {', '.join(sorted(of, key=float))}" for arm, of in seeds.items() if arm not in new_arms]
    lines = [f"arms were added ({listed(new_arms)})"] if new_arms else []
    return lines + ([f"seeds were added ({'; '.join(more)})"] if more else [])


def _said(runs: Sequence[str], what: str) -> list[str]:
    """The end of a sentence, as in "runs a1, b2 began before it was registered"; empty without runs."""
    return [f"runs {some_of(sorted(runs))} {what}"] if runs else []


def _first_reading(store: Store, registration: Registration) -> dict[str, Any]:
    path = store.first_reading(registration.name)
    value = read_mapping(path, "only a copy of it can replace it")
    if value is not None and not value.keys() >= {"hash", "read", "records"}:
        raise StoreError(f"{path} was changed: it lacks hash, read or records.")
    return value or {}
