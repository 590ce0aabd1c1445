"""The batches of a search in the store, written before they are trained and never changed; and their results.

A killed search reads them, and so continues with the trials that it had proposed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from re import fullmatch
from statistics import fmean
from typing import Any, Literal

from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping
from plasticity_lab.records.files import create_once, json_bytes
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.settings import StopRule, checked
from plasticity_lab.records.store import Store
from plasticity_lab.stored_files import ID

FORMAT = 1
ADVICE = "if you remove it with the batches after it, the same command proposes it again"
_FIELDS = {"format": int, "search": str, "about": dict, "width": int, "trials": list, "stopping": dict | None}
_TRIAL_FIELDS = {"study": int, "values": dict, "runs": list, "refused": str | None}


@dataclass(frozen=True)
class Trial:
    """Values that a search tries.

    study: the number of its study, from 0. runs: the ids of its runs, one for each seed. refused: the reason why no run
    can have these values; then there are no runs.
    """

    study: int
    values: Mapping[str, Any]
    runs: Sequence[str]
    refused: str | None = None

    @property
    def key(self) -> object:
        """Equal for trials that repeat each other: with the same runs, or the same refused values."""
        return tuple(self.runs) or repr(sorted(self.values.items()))


@dataclass(frozen=True)
class Batch:
    """Trials that are trained together, as one sweep.

    width: the number of trials of each study in a batch. about: the description of the search. stopping: run → the rule
    that stops it early; None if the search stops no runs.
    """

    trials: Sequence[Trial]
    width: int
    about: Mapping[str, Any]
    stopping: Mapping[str, StopRule] | None = None


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of one study without those that repeat an earlier one."""
    first: dict[object, Trial] = {}
    for trial in trials:
        first.setdefault(trial.key, trial)
    return list(first.values())


def batches_of(store: Store, search: str) -> list[Batch]:
    """The batches of a search in their order; none before it has begun.  Raises DamagedFile; StoreError."""
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
    fault = fault_of_fields(trial, _TRIAL_FIELDS)
    if fault is None and not all(isinstance(run, str) and fullmatch(ID, run) for run in trial["runs"]):
        return "names a run by something else than an id"
    return fault


def write_batch(store: Store, search: str, number: int, batch: Batch) -> None:
    """Writes a batch, unless another command has already written it.  Raises StoreError."""
    rules = batch.stopping
    content = {
        "format": FORMAT,
        "search": search,
        "about": dict(batch.about),
        "width": batch.width,
        "trials": [
            {"study": each.study, "values": dict(each.values), "runs": list(each.runs), "refused": each.refused}
            for each in batch.trials
        ],
        "stopping": None if rules is None else {run: rule.model_dump(mode="json") for run, rule in rules.items()},
    }
    create_once(store.batch(search, number), json_bytes(content))


@dataclass(frozen=True)
class Told:
    """The result of a trial.

    state: done; stopped, early or by divergence; or failed, which shows nothing about its values. value: the compared
    metric, averaged over its seeds, or its value at the early stop, at `step`; None without a value.
    """

    values: Mapping[str, Any]
    state: Literal["done", "stopped", "failed"]
    value: float | None = None
    step: int | None = None


class Results:
    """Reads the records of a store's runs; a record that exists is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Mapping[str, Any]] = {}

    def record(self, run: str) -> Mapping[str, Any] | None:
        """The record of a run; None if it has none, or one that cannot be read.  Raises StoreError."""
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
        """Forgets all records, before runs are trained: a failed run may get a record of another status."""
        self._known.clear()

    def status(self, run: str) -> str | None:
        """The status of a run's record; None if it has none."""
        record = self.record(run)
        return None if record is None else record["status"]

    def told(self, trial: Trial, metric: str) -> Told:
        """The result of a trial; its runs must have records.

        A run that diverged, or has no value, shows that its values are bad; a failed run does not.
        """
        records = [record for run in trial.runs if (record := self.record(run)) is not None]
        statuses = [record["status"] for record in records]
        if trial.refused is not None or "failed" in statuses or len(records) < len(trial.runs):
            return Told(trial.values, "failed")
        values = [record["summary"].get(metric) for record in records if record["status"] == "done"]
        known = [value for value in values if value is not None]
        if len(known) == len(records):
            return Told(trial.values, "done", fmean(known))
        stopped = [record for record in records if record["status"] == "stopped"]
        reached = [value for record in stopped if (value := record["summary"].get(metric)) is not None]
        if len(reached) < len(stopped) or not reached or len(stopped) + len(known) < len(records):
            return Told(trial.values, "stopped")
        return Told(trial.values, "stopped", fmean(reached), min(record["stopped_at_step"] for record in stopped))
