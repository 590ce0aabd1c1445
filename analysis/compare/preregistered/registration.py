"""A registration: a hypothesis with the runs, the metric and the test that decide it; its file, and its state.

The state says whether a study is still as it was fixed: kept, open while runs have not ended, or broken, with the
reasons.
"""

import contextlib
import hashlib
import json
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
from plasticity_lab.records.first_readings import COPY, NAME, first_readings, keep_first_reading, registered
from plasticity_lab.records.identity import canonical_json
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.record_facts import (
    DIGEST,
    FINISHED,
    TRAINED_BEFORE,
    CorruptRecord,
    digest_of,
    is_as_written,
)
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import differs_from_metrics

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


def state_of(store: Store, read: Read, rows: Sequence[Row], seal: str | None = None) -> State:
    """The state of a registration.

    rows: all of the store, unfiltered. seal: the hash that was published (`seal_of`), or its first digits. Digests of
    the runs that have ended are kept from now on, which reveals later changes.  Raises StoreError.
    """
    registration = read.registration
    records, faults = _records(store, registration)
    ended = {run for run, record in records.items() if record["status"] in FINISHED}
    broken = [] if read.unchanged else ["its file was changed after it was written"]
    if seal is not None and not seal_of(store, registration).startswith(seal):
        broken.append("the registration, its plan or its code is not the one that was sealed")
    registered_at = datetime.fromisoformat(registration.registered)
    broken += _said([run for run in ended if _began(records[run]) < registered_at], "began before it was registered")
    broken += _said([run for run in ended if DIGEST not in records[run]], "have records without a digest")
    broken += _said([run for run in ended if not is_as_written(records[run])], "changed after they were recorded")
    broken += _said(faults, "left files that were changed after they were written")
    unlike = [run for run in ended if run not in faults and _differs(store, records[run])]
    broken += _said(unlike, "have summaries that do not follow from their metrics")
    again = [run for run in ended if any(each["status"] in FINISHED for each in records[run].get(TRAINED_BEFORE, ()))]
    broken += _said(again, f"were trained again after they had ended ({_times(records, again)})")
    broken += _since_first_reading(store, registration, records)
    broken += _added(registration, rows)
    keep_first_reading(store, registration.runs)
    return State(broken, len(ended), len(registration.runs))


def _since_first_reading(
    store: Store, registration: Registration, records: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The changes of runs that had ended before: since they were read, or since their pack was recorded."""
    first = first_readings(store, registration.name)
    since, known = f"since the first reading of {first.since}", first.digests
    broken = ["it is not the one of the first reading"] if first.hashes - {registration.hash} else []
    broken += _said([run for run in known if run not in records], f"are gone {since}")
    changed = [run for run in known if run in records and digest_of(records[run]) != known[run]]
    broken += _said(changed, f"were changed or trained again {since}")
    lost = (_recorded(store) & registration.runs.keys()) - records.keys() - known.keys()
    return broken + _said([*lost], "have lost their records: their packs have ended")


def _recorded(store: Store) -> set[str]:
    """The runs that packs have recorded at their ends."""
    runs: set[str] = set()
    for pack in names(store.done_folder) if store.done_folder.is_dir() else ():
        with contextlib.suppress(StoreError):  # damaged: the records say how its runs ended
            runs |= {*(read_mapping(store.done(pack), COPY) or {}).get("runs", ())}
    return runs


def _differs(store: Store, record: Mapping[str, Any]) -> bool:
    """Whether a record's summary does not follow from its metrics; not if its class cannot be imported any more."""
    try:
        table = read_metrics(store, record["run"])
        return table is None or bool(differs_from_metrics(record, table))
    except ConfigError:
        return False


def _times(records: Mapping[str, Mapping[str, Any]], runs: Sequence[str]) -> str:
    """The number of trainings of these runs, and their modes."""
    trainings = [[*records[run][TRAINED_BEFORE], records[run]["provenance"]] for run in runs]
    modes = sorted({str(each.get("mode")) for of_run in trainings for each in of_run})
    return f"up to {max(map(len, trainings), default=0)} times, mode {', '.join(modes)}"


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
                read_metrics(store, run)
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
