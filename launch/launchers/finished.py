"""Whether all runs of a command are finished, in sentences, and which small files of packs are damaged.

It imports no torch. The readers of records and plans check those files themselves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from analysis.outcomes import over_tasks, some_tasks, why_without
from launch.packs.endings import read_ending
from launch.packs.progress import read_progress
from launch.packs.submissions import submissions_of
from launch.packs.todo import Outstanding, adopted, how_to_try_again, outstanding, tidied
from launch.plan.calibration import damaged_calibrations
from launch.plan.device import most_workers
from launch.runs.groups import ASSAY
from launch.runs.settings import store_option
from launch.tracking.wandb.marks import read_marks
from launch.wording import counted, flagged, say, some
from plasticity_lab.errors import PlasticityError, StoreError
from plasticity_lab.records.checkpoint import GOES_BACK, latest_epoch
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.damage import DamagedFile, fault_of_file
from plasticity_lab.records.files import names
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.own_classes import file_of_class
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import CorruptRecord, ended_for, flags_of
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

_READERS: dict[str, Callable[[Store, str], Any]] = {
    "done": read_ending,
    "packs": read_progress,
    "tracked": read_marks,
}
"""Folder of the store → the function that reads a pack's file in it."""


class SweepFailed(PlasticityError):
    """Some runs of a sweep failed, or its workers ended before the sweep did."""


def all_finished_here(runs: Sequence[Run], settings: Settings) -> bool:
    """`all_finished` on this machine; False if it may lack the device or the cores, since that check needs torch."""
    plain = settings.device in ("auto", "cpu") and (settings.launch.workers or 1) <= most_workers()
    return plain and all_finished(runs, settings, lambda: None)


def all_finished(runs: Sequence[Run], settings: Settings, check: Callable[[], None]) -> bool:
    """Whether a command has nothing to train.  If so, prints that and tidies the store.

    Also False if the command requests a plan, or a file of the store may be damaged: the messages about these name the
    device, which needs torch. check: raises for any other mistake in the command, before the store is tidied.
    Raises the errors of `check` and `report.to_be_trained`.
    """
    if settings.dry_run or settings.plan_only or settings.rerun:
        return False
    store = Store(settings.store)
    if not _may_be_finished(store, runs):
        return False
    todo = outstanding(store, runs, settings.rerun, settings.launch.retries, ended_for(settings))
    if todo.left:
        return False
    sweep = sweep_id([*todo.finished, *todo.given_up])
    unreadable: list[StoreError] = []
    adopted(store, [], "", settings.launch.lease_seconds, unreadable)
    if unreadable or damaged_files(store, todo.packs) or damaged_jobs(store, [sweep]) or damaged_calibrations(store):
        return False
    check()
    say(*tidied(store, todo, sweep, settings.launch.lease_seconds))
    say_all_finished(store, todo, settings)
    return True


def _may_be_finished(store: Store, runs: Sequence[Run]) -> bool:
    """False if the first or the last run has no record, as for most commands that train."""
    if not store.root.exists():
        return False
    index = RunIndex(store)
    try:
        return all(index.of(run.id) is not None for run in (runs[0], runs[-1]))
    except CorruptRecord:
        return False


def say_all_finished(store: Store, todo: Outstanding, settings: Settings) -> None:
    """Prints that no run of a command is left.  Raises SweepFailed if some runs failed too often to be tried again."""
    if todo.given_up:
        runs = len(todo.finished) + len(todo.given_up)
        words = f"Of {counted(runs, 'run')} {len(todo.finished):,} finished already, {len(todo.given_up):,} failed."
        raise SweepFailed(f"{words} {how_to_try_again(todo.given_up)}")
    say_of_finished(todo, settings)
    if len(todo.finished) == 1:
        say(f"The run is finished already; rerun=true trains it again. {result(store, todo.finished[0])}")
    else:
        say_finished(store, len(todo.finished), " already; rerun=true trains them again")
    say_next(store, todo.finished)


def say_of_finished(todo: Outstanding, settings: Settings) -> None:
    """Prints which runs are not trained, although a user may expect it."""
    if todo.given_up and todo.left:
        say(how_to_try_again(todo.given_up))
    for target, edited in todo.edited.items():
        say(
            f"{file_of_class(target)} or one of its imports has changed since {target.rpartition('.')[2]} trained "
            f"{counted(len(edited), 'finished run')} ({some(edited, 3)}); the command takes these runs as they are; "
            "rerun=true trains them again."
        )
    if settings.save_weights != "none" and (count := len(todo.without_weights)):
        were, them = ("was", "it") if count == 1 else ("were", "them")
        say(
            f"{counted(count, 'finished run')} {were} trained without save_weights=final, and no weights were kept; "
            f"rerun=true trains {them} again."
        )
    wanted = todo.finished if settings.save_video == "last" else ()
    if without_film := [run for run in wanted if not todo.index.store.film(run).is_file()]:
        say(
            f"{counted(len(without_film), 'finished run')} ({some(without_film, 3)}) without a film; rerun=true trains "
            "again, and films games and MuJoCo's bodies."
        )
    for (group, name), without in todo.without_measures.items():
        later = " Runs that kept weights of tasks need no training: python -m launch assay." if group == ASSAY else ""
        say(
            f"{counted(len(without), 'finished run')} ({some(without, 3)}) trained without {group}={name}, and "
            f"the records have no columns of it; rerun=true trains them again, to the same other numbers.{later}"
        )


def say_finished(store: Store, runs: int, how: str) -> None:
    """Prints that all runs are finished.  how: words to add after "finished"."""
    finished = "The run is" if runs == 1 else f"All {runs:,} runs are"
    say(f"{finished} finished{how}. Records: {store.root}")


def say_next(store: Store, runs: Sequence[str]) -> None:
    """Prints the command that shows more about the runs."""
    if len(runs) == 1:
        say(f"All about it: python -m launch show {runs[0]}{store_option(store)}")
    else:
        say(f"Their table: python -m analysis table{store_option(store)}")


def result(store: Store, run: str) -> str:
    """The outcome, the results and the folder of a finished run, in one line."""
    record: Any = read_record(store, run)
    if record is None:
        return f"Run {run} has no record."
    step = record.get("diverged_at_step") or record.get("stopped_at_step")
    ended = record["status"] + (f" at step {step:,}" if step else "")
    numbers = ", ".join(_numbers(record)) or _without_numbers(record)
    return f"Run {run} is {flagged(ended, flags_of(record))}: {numbers}. Record: {store.run_folder(run)}"


def _without_numbers(record: Mapping[str, Any]) -> str:
    """The reason why a finished run has no number."""
    if record["status"] != "done":
        return "no task has ended"
    name = declared_in(record).headline
    silent = why_without("done", record["summary"], name) == "no_episode"
    return "no episode ended" if silent else f"it has no value of {name}"


def _numbers(record: Mapping[str, Any]) -> list[str]:
    """The main metric of a run, and its other measures with a direction and a short title, in words."""
    declared, summary = declared_in(record), record["summary"]
    numbers = []
    for measure in declared.with_direction:
        value = summary.get(measure.name)
        if isinstance(value, float) and (measure.short or measure.name == declared.headline):
            title = measure.short or measure.title
            numbers.append(f"{title} {measure.scale * value:,.1f} {measure.unit}".rstrip())
    tasks = some_tasks(summary)
    return numbers + ([f"means over {over_tasks([tasks])} tasks with an ended episode"] if tasks else [])


def damaged_files(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """The errors of damaged endings, progress files, and marks of uploads to W&B.

    Leases are not read: a damaged lease holds until it runs out.  Raises StoreError if the disk does not answer.
    """
    damaged = []
    wanted = sorted(packs)
    # Most packs of a large store have few of these files. So folders are listed once, and no missing file is opened.
    present = {folder: set(names(store.root / folder)) for folder in _READERS}
    for pack in wanted:
        for folder, read in _READERS.items():
            if pack in present[folder]:
                try:
                    read(store, pack)
                except DamagedFile as error:
                    damaged.append(error)
    return damaged


def damaged_checkpoints(store: Store, packs: Iterable[str]) -> list[DamagedFile]:
    """The errors of packs' damaged latest checkpoints, found by their first and last bytes.  Raises StoreError."""
    begun = set(names(store.root / "packs"))
    latest = ((pack, latest_epoch(store, pack)) for pack in sorted(packs) if pack in begun)
    paths = [store.checkpoint(pack, epoch) for pack, epoch in latest if epoch >= 0]
    faults = ((path, fault_of_file(path)) for path in paths)
    return [DamagedFile(path, fault, GOES_BACK) for path, fault in faults if fault and path.exists()]


def damaged_jobs(store: Store, sweeps: Iterable[str]) -> list[DamagedFile]:
    """The errors of damaged files about the Slurm jobs of sweeps.  Raises StoreError."""
    unreadable: list[StoreError] = []
    for sweep in sweeps:
        submissions_of(store, sweep, unreadable)
    return [error for error in unreadable if isinstance(error, DamagedFile)]
