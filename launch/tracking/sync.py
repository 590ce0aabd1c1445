"""Which finished runs of a store W&B lacks, and writing them there: what `python -m launch sync` does."""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from launch.tracking.wandb.marks import Destination, mark_written, written
from launch.tracking.wandb.offline import UNFINISHED, clear_offline, offline_folders, uploaded_by_hand
from plasticity_lab.errors import StoreError
from plasticity_lab.records.plan import all_plans
from plasticity_lab.records.record import read_record, records_of
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store

BATCH = 32
_DAY = 86_400.0


@dataclass
class Survey:
    """What W&B lacks of a store.

    missing: destination → its runs that are not there. there: how many are. uploaded: destination → the runs that are
    there and have offline folders still. groups: run → sweep. corrupt, unreadable: what is wrong with records, and with
    plans, that cannot be read.
    """

    missing: dict[Destination, list[str]] = field(default_factory=dict)
    there: int = 0
    uploaded: dict[Destination, list[str]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    corrupt: list[CorruptRecord] = field(default_factory=list)
    unreadable: list[StoreError] = field(default_factory=list)

    @property
    def lacking(self) -> int:
        """How many runs are missing."""
        return sum(map(len, self.missing.values()))


def survey(store: Store, online: bool, entity: str | None, project: str | None, default: str) -> Survey:
    """Looks at every record of a store, and changes nothing.  Raises StoreError.

    A run belongs where its sweep was tracked, or would have been (`default` where no plan says), unless entity and
    project are named.
    """
    found = Survey()
    tracked: dict[str, TrackingSettings] = {}
    for plan in all_plans(store, found.unreadable):
        tracked[plan.sweep] = plan.settings.tracking
        for run in plan.asked:
            found.groups.setdefault(run, plan.sweep)
    folders = offline_folders(store)
    known: dict[tuple[str, Destination], set[str]] = {}

    def is_written(run: str, pack: str, destination: Destination) -> bool:
        if (pack, destination) not in known:
            known[pack, destination] = written(store, pack, destination)
        return run in known[pack, destination]

    for record in records_of(store, found.corrupt):
        run, source = record["run"], record["provenance"]
        settings = tracked.get(source.get("sweep") or found.groups.get(run, ""))
        of_sweep = (settings.entity, settings.project) if settings else (None, default)
        where = (entity or of_sweep[0] or "", project or of_sweep[1] or default)
        server, offline = Destination(True, *where), Destination(False, *where)
        is_offline = is_written(run, source["pack"], offline) and run in folders
        if is_written(run, source["pack"], server) or (is_offline and uploaded_by_hand(folders[run])):
            found.there += 1
            if run in folders:
                found.uploaded.setdefault(server, []).append(run)
        elif is_offline and not online:
            found.there += 1
        else:
            found.missing.setdefault(server if online else offline, []).append(run)
    return found


def tidy(store: Store, found: Survey) -> None:
    """Clears the offline folders of runs that are uploaded, and what writers that were killed have left."""
    for destination, runs in found.uploaded.items():
        for pack, members in _by_pack(store, runs).items():
            mark_written(store, pack, destination, members)
        clear_offline(store, runs)
    for folder in store.wandb_folder.glob(f"{UNFINISHED}*"):
        if folder.stat().st_mtime < time.time() - _DAY:
            shutil.rmtree(folder, ignore_errors=True)


def catch_up(store: Store, found: Survey, report: Callable[[int], None]) -> dict[str, str]:
    """Writes what is missing, run by run.  Returns run → why it could not.  Raises StoreError.

    report: called with how many have been written, after each batch. After a batch of which nothing could be written,
    the rest is not tried.
    """
    if not found.missing:
        return {}
    # Importing wandb takes a second, which a command with nothing to write need not wait for.
    from launch.tracking.wandb.open_run import own_service
    from launch.tracking.wandb.writer import write_runs

    failed: dict[str, str] = {}
    done, down = 0, ""
    for destination, runs in found.missing.items():
        for batch in (runs[at : at + BATCH] for at in range(0, len(runs), BATCH)):
            if down:
                failed |= dict.fromkeys(batch, down)
                continue
            records = [record for run in batch if (record := read_record(store, run)) is not None]
            with own_service():
                not_written = write_runs(store, destination, records, found.groups)
            failed |= not_written
            done += len(records) - len(not_written)
            report(done)
            if records and len(not_written) == len(records):
                down = not_written[records[-1]["run"]]
    return failed


def _by_pack(store: Store, runs: Sequence[str]) -> dict[str, list[str]]:
    packs: dict[str, list[str]] = {}
    for run in runs:
        if (record := read_record(store, run)) is not None:
            packs.setdefault(record["provenance"]["pack"], []).append(run)
    return packs
