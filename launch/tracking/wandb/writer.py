"""Writing runs to W&B from their records, online or as offline folders in the store."""

import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from launch.tracking.wandb import content
from launch.tracking.wandb.marks import Destination, mark_written
from launch.tracking.wandb.offline import UNFINISHED, clear_offline
from launch.tracking.wandb.open_run import OpenRun, begin_service, end_service
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.files import beside, disk_errors, make_folder, names
from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.store import Store

AT_ONCE = 8
"""Runs that are uploaded at the same time: each waits for the server most of the time."""
MOST_FAILURES = 3
"""After this many failures in a row the rest of a batch is not tried."""
_LEAST_BYTES = 100
"""Each row takes more bytes than this in W&B's files."""
_TRIAL_BYTES = 1 << 16
"""What must still fit on the disk after a batch."""

Record = Mapping[str, Any]


def write_runs(
    store: Store,
    destination: Destination,
    records: Sequence[Record],
    groups: Mapping[str, str] | None = None,
    begun: Mapping[str, OpenRun] | None = None,
    report: Callable[[], None] = lambda: None,
) -> dict[str, str]:
    """Writes finished runs from their records and notes it in the store.  Returns run → why it could not be written.

    groups: run → sweep, for records that do not name theirs. begun: runs that are open already; they are completed.
    report: called after each run. To be called within `own_service`, with no other run open: W&B's service is ended.

    Raises StoreError if the store cannot be read or written.
    """
    batch = _Batch(store, destination, groups or {}, begun or {})
    with _folder(store, destination) as folder:
        begin_service()
        with ThreadPoolExecutor(AT_ONCE if destination.online else 1) as several:
            for _ in several.map(lambda record: batch.write(record, folder), records):
                report()
        batch.end()
        if not destination.online:
            _keep_complete(store, folder, batch)
    packs: dict[str, list[str]] = {}
    for record in records:
        if record["run"] in batch.rows:
            packs.setdefault(record["provenance"]["pack"], []).append(record["run"])
    for pack, runs in packs.items():
        mark_written(store, pack, destination, runs)
    if destination.online:
        clear_offline(store, batch.rows)
    return batch.failed


class _Batch:
    """Runs that are written together.  rows: run → rows written; failed: run → why not."""

    def __init__(
        self, store: Store, destination: Destination, groups: Mapping[str, str], begun: Mapping[str, OpenRun]
    ) -> None:
        self.store, self.destination, self.groups, self.begun = store, destination, groups, begun
        self.rows: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self._lock, self._failed_in_a_row = threading.Lock(), 0

    def write(self, record: Record, folder: Path) -> None:
        """Writes one run; after too many failures in a row it does not try."""
        run = record["run"]
        if self._failed_in_a_row >= MOST_FAILURES:
            self.failed[run] = next(reversed(self.failed.values()))
            return
        try:
            table = read_metrics(self.store, run)
        except CorruptRecord as error:
            self.failed[run] = str(error)
            return
        rows = {} if table is None else content.merged(content.rows(table, declared_in(record)))
        try:
            sweep = record["provenance"].get("sweep") or self.groups.get(run)
            opened = self.begun.get(run) or OpenRun(record, self.destination, folder, sweep)
            opened.complete(record, rows.items())
        except Exception as error:  # W&B's service can die at any moment, and its server can answer anything
            with self._lock:
                self._failed_in_a_row += 1
                self.failed[run] = in_a_line(error)
            if not self.destination.online:
                self.end()  # the next run gets a service of its own
        else:
            with self._lock:
                self._failed_in_a_row = 0
                self.rows[run] = len(rows)

    def end(self) -> None:
        """Ends W&B's service; if it died before, any of the offline runs that it wrote may be incomplete."""
        if not end_service() and not self.destination.online:
            self.failed |= dict.fromkeys(self.rows, "W&B's service ended too early")
            self.rows.clear()


@contextlib.contextmanager
def _folder(store: Store, destination: Destination) -> Iterator[Path]:
    """Where W&B may write: for offline runs on the store's disk, under a name that cannot be that of a run."""
    if destination.online:
        with TemporaryDirectory(prefix="plasticity-wandb-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
        return
    folder = store.wandb_folder / f"{UNFINISHED}{os.getpid()}-{secrets.token_hex(4)}"
    with disk_errors("write", folder):
        make_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keep_complete(store: Store, folder: Path, batch: _Batch) -> None:
    """Moves complete offline runs to where they belong, and removes what an earlier attempt left of the same runs."""
    # W&B reports no error on a full disk: the end of a file is missing, or all of it.
    with beside(store.wandb_folder / "trial", bytes(_TRIAL_BYTES)):
        pass
    made = {name.rpartition("-")[2]: folder / "wandb" / name for name in names(folder / "wandb")}
    for run, rows in list(batch.rows.items()):
        log = made[run] / f"run-{run}.wandb" if run in made else None
        if log is None or not log.is_file() or log.stat().st_size <= _LEAST_BYTES * rows:
            batch.failed[run] = "W&B left an incomplete file"
            del batch.rows[run]
    clear_offline(store, batch.rows)
    for run in batch.rows:
        with disk_errors("write", store.wandb_folder / made[run].name):
            # W&B's own logs and empty folders would be nine more files for each run.
            for entry in made[run].iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
            made[run].rename(store.wandb_folder / made[run].name)


def in_a_line(error: Exception) -> str:
    """What a W&B error says, in a line; of a setting that W&B refuses also which one, and why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and "validation error" in lines[0]:
        return ": ".join(lines[:3])
    return lines[0] if lines else type(error).__name__
