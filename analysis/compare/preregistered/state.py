"""Whether a study is still as it was registered: kept, open while runs have not ended, or broken, with the reasons."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analysis.compare.preregistered.registration import Read, Registration, seal_of
from analysis.compare.sections import sections
from analysis.compare.setting import listed, task_of, word
from analysis.rows import Row
from analysis.where import some_of
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.damage import read_mapping
from plasticity_lab.records.files import names
from plasticity_lab.records.first_readings import COPY, first_readings, keep_first_reading
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


@dataclass(frozen=True)
class State:
    """broken: the changes, each as the end of a sentence. ended: how many of the registration's runs have ended.
    other_code: how many of these were trained by other code than the registered one.
    """

    broken: Sequence[str]
    ended: int
    runs: int
    other_code: int = 0

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
    codes = [records[run]["provenance"].get("code") for run in ended] if registration.code else []
    return State(broken, len(ended), len(registration.runs), sum(code != registration.code for code in codes))


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
