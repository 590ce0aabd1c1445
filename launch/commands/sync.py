"""Write the runs that W&B lacks from their records, and clear offline runs that are uploaded.

Runs appear in W&B under their run ids, so that none appears twice, however often it is written.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from launch.packs.lookup import add_store, store_there
from launch.runs.answers import answers_kept
from launch.tracking.wandb.environment import named, require_key
from launch.tracking.wandb.marks import (
    UNFINISHED,
    Destination,
    clear_offline,
    mark_records,
    offline_folders,
    uploaded_by_hand,
    written,
)
from launch.wording import counted
from plasticity_lab.errors import StoreError
from plasticity_lab.records.plan import all_plans
from plasticity_lab.records.record import CorruptRecord, read_record, records_of
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store

PROJECT = "plasticity_lab"
"""The project of runs without a plan; also the default in conf/tracking."""
_SILENCE_SECONDS = 10.0
BATCH = 32
_DAY = 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_store(parser)
    parser.add_argument("--entity", help="W&B's user or team; by default each sweep's")
    parser.add_argument("--project", help="W&B's project; by default each sweep's")
    parser.add_argument("--offline", action="store_true", help="write offline runs into the store, upload nothing")
    parser.add_argument("--dry-run", action="store_true", help="print how many runs are missing, write nothing")


def run(options: argparse.Namespace) -> int:
    """The command.  Returns 1 if runs could not be written.  Raises ConfigError without a key, StoreError."""
    store = store_there(options.store)
    if not (options.offline or options.dry_run):
        require_key("Uploading", "--offline writes runs that can be uploaded elsewhere.")
    surveyed = survey(store, not options.offline, options.entity, options.project)
    for error in [*surveyed.unreadable, *surveyed.corrupt]:
        print(error, file=sys.stderr)
    if options.dry_run:
        print(f"{counted(surveyed.lacking, 'run')} to write, {surveyed.there:,} there already.")
        return 0
    tidy(store, surveyed)
    last_said = time.monotonic()

    def report(done: int) -> None:
        nonlocal last_said
        if time.monotonic() - last_said > _SILENCE_SECONDS:
            last_said = time.monotonic()
            print(f"{done:,} of {counted(surveyed.lacking, 'run')} written", file=sys.stderr, flush=True)

    failed = catch_up(store, surveyed, report)
    left = surveyed.lacking - len(failed)
    places = ", ".join(sorted({"/".join(filter(None, (to.entity, to.project))) for to in surveyed.missing}))
    where = f"offline into {store.wandb_folder}" if options.offline else f"to W&B ({places})" if places else "to W&B"
    print(f"{counted(left, 'run')} written {where}; {surveyed.there:,} there already.")
    for reason in dict.fromkeys(failed.values()):
        count = list(failed.values()).count(reason)
        print(f"Not written: {counted(count, 'run')}: {reason.rstrip('.')}{named()}.", file=sys.stderr)
    return 1 if failed else 0


@dataclass
class Survey:
    """The runs of a store that W&B lacks.

    missing: destination → its missing runs. there: the number of runs that are written. uploaded: destination → the
    uploaded runs that still have offline folders. groups: run → sweep. corrupt: damaged records. unreadable: unreadable
    plans.
    """

    missing: dict[Destination, list[str]] = field(default_factory=dict)
    there: int = 0
    uploaded: dict[Destination, list[str]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    corrupt: list[CorruptRecord] = field(default_factory=list)
    unreadable: list[StoreError] = field(default_factory=list)

    @property
    def lacking(self) -> int:
        """The number of missing runs."""
        return sum(map(len, self.missing.values()))


def survey(store: Store, online: bool, entity: str | None, project: str | None) -> Survey:
    """Reads every record of a store, and changes nothing.  Raises StoreError.

    A run's destination is the named entity and project. If one is not named, the plan of the run's sweep gives it;
    without a plan the project is PROJECT.
    """
    surveyed = Survey()
    tracked: dict[str, TrackingSettings] = {}
    for plan in all_plans(store, surveyed.unreadable):
        tracked[plan.sweep] = plan.settings.tracking
        for run in plan.asked:
            surveyed.groups.setdefault(run, plan.sweep)
    folders = offline_folders(store)
    known: dict[tuple[str, Destination], set[str]] = {}

    def is_written(run: str, pack: str, destination: Destination) -> bool:
        if (pack, destination) not in known:
            known[pack, destination] = written(store, pack, destination)
        return run in known[pack, destination]

    for record in records_of(store, surveyed.corrupt):
        run, source = record["run"], record["provenance"]
        settings = tracked.get(source.get("sweep") or surveyed.groups.get(run, ""))
        of_sweep = (settings.entity, settings.project) if settings else (None, PROJECT)
        where = (entity or of_sweep[0] or "", project or of_sweep[1] or PROJECT)
        server, offline = Destination(True, *where), Destination(False, *where)
        is_offline = is_written(run, source["pack"], offline) and run in folders
        if is_written(run, source["pack"], server) or (is_offline and uploaded_by_hand(folders[run])):
            surveyed.there += 1
            if run in folders:
                surveyed.uploaded.setdefault(server, []).append(run)
        elif is_offline and not online:
            surveyed.there += 1
        else:
            surveyed.missing.setdefault(server if online else offline, []).append(run)
    return surveyed


def tidy(store: Store, surveyed: Survey) -> None:
    """Clears the offline folders of uploaded runs, and folders left by killed writers."""
    for destination, runs in surveyed.uploaded.items():
        mark_records(store, destination, filter(None, (read_record(store, run) for run in runs)))
        clear_offline(store, runs)
    for folder in store.wandb_folder.glob(f"{UNFINISHED}*"):
        if folder.stat().st_mtime < time.time() - _DAY:
            shutil.rmtree(folder, ignore_errors=True)


def catch_up(store: Store, surveyed: Survey, report: Callable[[int], None]) -> dict[str, str]:
    """Writes the missing runs.  Returns run → why it could not be written.  Raises StoreError.

    report: called after each batch with the number of written runs. After a batch without any written run, the rest is
    not tried.
    """
    if not surveyed.missing:
        return {}
    # Importing wandb takes a second, which a command with nothing to write need not wait for.
    from launch.tracking.wandb.writer import own_service, write_runs

    failed: dict[str, str] = {}
    done, down = 0, ""
    for destination, runs in surveyed.missing.items():
        for batch in (runs[at : at + BATCH] for at in range(0, len(runs), BATCH)):
            if down:
                failed |= dict.fromkeys(batch, down)
                continue
            records = [record for run in batch if (record := read_record(store, run)) is not None]
            with own_service(), answers_kept():
                not_written = write_runs(store, destination, records, surveyed.groups)
            failed |= not_written
            done += len(records) - len(not_written)
            report(done)
            if records and len(not_written) == len(records):
                down = not_written[records[-1]["run"]]
    return failed
