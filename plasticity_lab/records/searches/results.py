"""What the trials of a search have come to, by the records of their runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from plasticity_lab.records.kept_files import CorruptRecord
from plasticity_lab.records.record import read_record
from plasticity_lab.records.searches.batches import Trial
from plasticity_lab.records.store import Store

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
