"""Stores with records of runs that nobody trained."""

from collections.abc import Callable, Sequence
from pathlib import Path

from launch.command import resolve
from plasticity_lab.records.record import new_record, write_record
from plasticity_lab.records.store import Store


def left_behind(folder: Path, words: Sequence[str], taoa_of: Callable[[dict], float | None]) -> list[str]:
    """Writes a record for each run that a command names → their ids.  taoa_of: None for a run that diverged."""
    store, runs = Store(folder), resolve([*words, f"store='{folder}'"]).runs
    for run in runs:
        taoa = taoa_of(run["science"])
        if taoa is None:
            write_record(store, new_record(run, "diverged", {}, summary={"taoa": 0.99}, diverged_at_step=7))
        else:
            write_record(store, new_record(run, "done", {}, summary={"taoa": taoa, "final_accuracy": 1 - taoa}))
    return [run["id"] for run in runs]
