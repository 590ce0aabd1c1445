"""What a search has tried: its batches in the store, written before they are trained and never changed.

A search that was killed reads them, and so goes on with the trials that it had proposed, whatever proposes now.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from re import fullmatch
from statistics import fmean
from typing import Any, Literal

from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping
from plasticity_lab.records.files import create_once
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.settings import StopRule, checked
from plasticity_lab.records.store import Store
from plasticity_lab.stored_files import ID

FORMAT = 1
ADVICE = "taken away, with the batches after it, it is proposed anew by the same command"
_FIELDS = {"format": int, "search": str, "about": dict, "width": int, "trials": list, "stopping": dict | None}
_OF_TRIAL = {"study": int, "values": dict, "runs": list, "refused": str | None}


@dataclass(frozen=True)
class Trial:
    """Values that a search tries.

    study: which of the search's studies, from 0. runs: the ids of its runs, one for each seed. refused: why these
    values are none that a run can have, so that it has no runs.
    """

    study: int
    values: Mapping[str, Any]
    runs: Sequence[str]
    refused: str | None = None

    @property
    def key(self) -> object:
        """Equal for trials that repeat each other: they have the same runs, or the same values that were refused."""
        return tuple(self.runs) or repr(sorted(self.values.items()))


@dataclass(frozen=True)
class Batch:
    """Trials that are trained at once, as one sweep.

    width: how many of each study a batch of this search has. about: what is searched, and how. stopping: run → the rule
    that stops it early; None where the search stops none.
    """

    trials: Sequence[Trial]
    width: int
    about: Mapping[str, Any]
    stopping: Mapping[str, StopRule] | None = None


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of one study without those that repeat an earlier one."""
    found: dict[object, Trial] = {}
    for trial in trials:
        found.setdefault(trial.key, trial)
    return list(found.values())


def batches_of(store: Store, search: str) -> list[Batch]:
    """The batches of a search in their order; none of one that has not begun.  Raises DamagedFile; StoreError."""
    return list(_batches(store, search))


def _batches(store: Store, search: str) -> Iterator[Batch]:
    number = 0
    while (content := read_mapping(path := store.batch(search, number), ADVICE)) is not None:
        fault = fault_of_fields(content, _FIELDS)
        fault = fault or next((why for each in content["trials"] if (why := _fault_of_trial(each))), None)
        if not fault and content["format"] != FORMAT:
            raise StoreError(f"{path} has format {content['format']}; this version reads format {FORMAT}.")
        if fault or content["search"] != search:
            raise DamagedFile(path, fault or "is of another search", ADVICE)
        stopping = content["stopping"]
        rules = None if stopping is None else {run: checked(StopRule, rule) for run, rule in stopping.items()}
        yield Batch([Trial(**each) for each in content["trials"]], content["width"], content["about"], rules)
        number += 1


def _fault_of_trial(trial: Any) -> str | None:
    fault = fault_of_fields(trial, _OF_TRIAL)
    if fault is None and not all(isinstance(run, str) and fullmatch(ID, run) for run in trial["runs"]):
        return "names a run by something else than an id"
    return fault


def write_batch(store: Store, search: str, number: int, batch: Batch) -> None:
    """Puts a batch into the store, where no other command has put it there meanwhile.  Raises StoreError."""
    content = {
        "format": FORMAT,
        "search": search,
        "about": dict(batch.about),
        "width": batch.width,
        "trials": [
            {"study": each.study, "values": dict(each.values), "runs": list(each.runs), "refused": each.refused}
            for each in batch.trials
        ],
        "stopping": None
        if batch.stopping is None
        else {run: rule.model_dump(mode="json") for run, rule in batch.stopping.items()},
    }
    path = store.batch(search, number)
    create_once(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode())


State = Literal["done", "stopped", "failed"]


@dataclass(frozen=True)
class Told:
    """What a trial has come to.

    state: done; stopped, early or since it diverged; or failed, which says nothing of its values. value: the mean over
    its seeds of what it is compared by, or what that was when it was stopped, at `step`; None where there is none.
    """

    values: Mapping[str, Any]
    state: State
    value: float | None = None
    step: int | None = None


class Results:
    """Reads the records of a store's runs, those that have ended once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Mapping[str, Any]] = {}

    def record(self, run: str) -> Mapping[str, Any] | None:
        """The record of a run; None where it has none, or one that cannot be read.  Raises StoreError."""
        if run not in self._known:
            try:
                record = read_record(self._store, run)
            except CorruptRecord:
                return None  # its run is trained again
            if record is None:
                return None
            self._known[run] = {key: record.get(key) for key in ("status", "summary", "stopped_at_step")}
        return self._known[run]

    def forget(self) -> None:
        """Runs are trained: what failed may have a record of another status then."""
        self._known.clear()

    def status(self, run: str) -> str | None:
        """Of a run's record; None where it has none."""
        record = self.record(run)
        return None if record is None else record["status"]

    def told(self, trial: Trial, metric: str) -> Told:
        """What a trial has come to, all of whose runs have records.

        A run that diverged, or has no value, shows that its values are bad; one that failed does not.
        """
        records = [of for run in trial.runs if (of := self.record(run)) is not None]
        statuses = [of["status"] for of in records]
        if trial.refused is not None or "failed" in statuses or len(records) < len(trial.runs):
            return Told(trial.values, "failed")
        values = [of["summary"].get(metric) for of in records if of["status"] == "done"]
        known = [value for value in values if value is not None]
        if len(known) == len(records):
            return Told(trial.values, "done", fmean(known))
        stopped = [of for of in records if of["status"] == "stopped"]
        reached = [value for of in stopped if (value := of["summary"].get(metric)) is not None]
        if len(reached) < len(stopped) or not reached or len(stopped) + len(known) < len(records):
            return Told(trial.values, "stopped")
        return Told(trial.values, "stopped", fmean(reached), min(of["stopped_at_step"] for of in stopped))
