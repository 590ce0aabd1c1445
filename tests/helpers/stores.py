"""Stores with records of runs that nobody trained."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from launch.command import resolve
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.plan import Plan, write_plan
from plasticity_lab.records.record import new_record, write_metrics, write_record
from plasticity_lab.records.settings import LaunchSettings, Settings, TrackingSettings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

SETTINGS = Settings(
    store=Path("store"),
    data=None,
    device="cpu",
    mode="eager",
    dry_run=False,
    rerun=False,
    save_weights="none",
    checkpoint_minutes=5.0,
    launch=LaunchSettings(workers=1, wait=False, lease_seconds=120.0, retries=2),
    tracking=TrackingSettings(backend="store", project="", entity=None, live_runs=0),
)
"""A command's settings, where it does not matter which."""


def planned_records(store: Store, asked: Iterable[Mapping], waiting: Iterable[Mapping]) -> None:
    """Writes a plan that names the runs of those records, and that still has to train the waiting ones."""
    runs = {each["run"]: Run(each["run"], each["science"], {}, each["asked_as"]) for each in waiting}
    write_plan(store, Plan("feedfeedfeed", [], [each["run"] for each in asked], runs, [], SETTINGS))


def left_behind(folder: Path, words: Sequence[str], taoa_of: Callable[[dict], float | None]) -> list[str]:
    """Writes a record, with empty metrics, for each run that a command names → their ids.

    taoa_of: None for a run that diverged.
    """
    store, runs = Store(folder), resolve([*words, f"store='{folder}'"]).runs
    for run in runs:
        files = {store.metrics(run.id).name: write_metrics(store, run.id, CLASSIFIER.schema.empty_table())}
        taoa = taoa_of(run.science)
        if taoa is None:
            summary, ended = {"taoa": 0.99}, {"status": "diverged", "diverged_at_step": 7}
        else:
            summary, ended = {"taoa": taoa, "final_accuracy": 1 - taoa}, {"status": "done"}
        write_record(store, new_record(run, provenance={}, summary=summary, files=files, **ended))
    return [run.id for run in runs]
