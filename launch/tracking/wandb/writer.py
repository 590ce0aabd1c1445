"""Writing runs to W&B from their records, online or as offline folders in the store, and one W&B run while it is open.

This file alone talks to wandb, and importing it takes a second.
"""

import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Read by wandb when it is imported: without it, it prints the place of its key to the terminal.
os.environ.setdefault("WANDB_SILENT", "true")

import wandb
from wandb.proto import wandb_internal_pb2
from wandb.util import json_dumps_safer_history

from launch.tracking.wandb import content
from launch.tracking.wandb.environment import in_a_line, only_heeded
from launch.tracking.wandb.marks import UNFINISHED, Destination, clear_offline, mark_records
from launch.tracking.wandb.naming import notes, run_name
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.files import beside, disk_errors, make_folder, names
from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.record_facts import CorruptRecord, seals_of
from plasticity_lab.records.store import Store

AT_ONCE = 8
"""Runs that are uploaded at the same time: each waits for the server most of the time."""
MOST_FAILURES = 3
"""After this many failures in a row the rest of a batch is not tried."""
_LEAST_BYTES = 100
"""A lower bound for the size of a row in W&B's files, in bytes."""
_TRIAL_BYTES = 1 << 16
"""Bytes that must still fit on the disk after a batch."""

_MESSAGES: Any = wandb_internal_pb2  # type checkers do not see its classes
Record = Mapping[str, Any]


class OpenRun:
    """A W&B run being written.  Errors of W&B come out as exceptions of any type.

    run: a run in training (see `connection.described`), or the record of a finished one. folder: for W&B's files.
    sweep: the group of the run.
    """

    def __init__(self, run: Mapping[str, Any], destination: Destination, folder: Path, sweep: str | None) -> None:
        self._last = 0
        self._has_state = False
        self._live = "status" not in run
        # Without `resume`, W&B overwrites a run of the same id: no run appears twice.
        self._run = wandb.init(
            entity=destination.entity or None,
            project=destination.project,
            id=run["run"],
            group=sweep,
            name=run_name(run),
            job_type=os.environ.get("WANDB_JOB_TYPE", content.JOB_TYPE),
            notes=os.environ.get("WANDB_NOTES", notes(run)),
            config=content.config(run),
            tags=content.tags(run),
            dir=folder,
            reinit="create_new",
            settings=_settings(destination.online, self._live),
        )
        self._run.define_metric(content.AXIS, hidden=True)
        for metrics, axis in content.axes(declared_in(run)).items():
            self._run.define_metric(metrics, step_metric=axis)

    def log(self, rows: Iterable[content.Row]) -> None:
        """Writes rows in ascending order.  The last row may be written again, in parts; earlier rows are skipped."""
        for number, values in rows:
            if number >= self._last:
                self._write(number, values)
                self._last = number

    def _write(self, number: int, values: Mapping[str, Any]) -> None:
        """Writes a row.  `Run.log` would replace a given `_runtime` by the seconds since the run was opened."""
        if "_runtime" not in values:
            self._run.log(dict(values), step=number)
            return
        row = _MESSAGES.HistoryRecord(step=_MESSAGES.HistoryStep(num=number))
        for name, value in {**values, "_step": number}.items():
            row.item.add(key=name, value_json=json_dumps_safer_history(value))
        interface: Any = self._run._interface  # W&B has no public function for it
        interface._publish_history(row)

    def show_state(self, state: str) -> None:
        """Shows the worker's state in the summary, until the run is complete."""
        self._run.summary["state"] = state
        self._has_state = True

    def complete(self, record: Mapping[str, Any], rows: Iterable[content.Row], film: Path | None = None) -> None:
        """Writes the rest of the record and the run's film, and ends the run."""
        rows = list(rows)
        summary = content.summary(record) | content.speed(record, max((number for number, _ in rows), default=0))
        if not self._live:
            rows = content.dated(rows, record)
            summary = content.last_values(rows) | content.duration(record) | summary
        self.log(rows)
        self._run.config.update({"provenance": dict(record["provenance"])}, allow_val_change=True)
        self._run.tags = tuple(content.tags(record))
        self._hide_state()
        if film is not None:
            summary["film"] = wandb.Video(str(film), format="gif")
        self._run.summary.update(summary)
        self._run.finish(exit_code=1 if record["status"] == "failed" else 0)

    def leave(self) -> None:
        """Ends a run after its training was interrupted; W&B shows it as preempted until it continues."""
        self._hide_state()
        self._run.mark_preempting()
        self._run.finish(exit_code=1)

    def _hide_state(self) -> None:
        if self._has_state:
            del self._run.summary["state"]


@contextlib.contextmanager
def own_service() -> Iterator[None]:
    """W&B with a service of this process and the settings of this moment; both are gone afterwards.

    wandb keeps address, key and service until it is asked to end. It passes its service on to child processes in the
    environment. A service of another process would not end here, and so would not complete its files.
    """
    end_service()
    with only_heeded():
        try:
            yield
        finally:
            end_service()


def begin_service() -> None:
    """Starts W&B's service and reads the settings of this moment, before several threads open runs at once.

    If several threads started it together, some would miss settings of the environment, such as the server's address.
    Errors are ignored here: they come again when a run is opened.
    """
    with contextlib.suppress(Exception):
        wandb.setup()


def end_service() -> bool:
    """Ends W&B's service, which completes its files only now.  Returns whether it ended without an error."""
    try:
        wandb.teardown()
    except (Exception, SystemExit):  # if the service failed, wandb would exit this process with its status
        with contextlib.suppress(Exception):
            wandb.teardown()  # the first call stopped early: this one forgets the key
        return False
    return True


def _settings(online: bool, live: bool) -> wandb.Settings:
    """Settings that write runs alone: data about machine, code and console would be several times as much.

    live: whether the run is trained while it is written. W&B overwrites the time in the summary of a run by the seconds
    that it was open. So for runs that were trained earlier, W&B leaves the summary to us.
    """
    return wandb.Settings(
        mode="online" if online else "offline",
        console="off",
        silent=True,
        symlink=False,
        disable_code=True,
        disable_git=True,
        disable_job_creation=True,
        save_code=False,
        # A stop on W&B's pages would interrupt this process and not the training.
        stop_fn=lambda: None,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
        x_server_side_derived_summary=not live,
    )


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
    report: called after each run. Call this within `own_service`, with no other run open: it ends W&B's service.

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
    mark_records(store, destination, [record for record in records if record["run"] in batch.rows])
    if destination.online:
        clear_offline(store, batch.rows)
    return batch.failed


class _Batch:
    """Runs that are written together.  rows: run → number of written rows. failed: run → why it was not written."""

    def __init__(
        self, store: Store, destination: Destination, groups: Mapping[str, str], begun: Mapping[str, OpenRun]
    ) -> None:
        self.store, self.destination, self.groups, self.begun = store, destination, groups, begun
        self.rows: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self._lock, self._failed_in_a_row = threading.Lock(), 0

    def write(self, record: Record, folder: Path) -> None:
        """Writes one run; after too many failures in a row it only notes the last failure."""
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
            film = self.store.film(run)
            opened.complete(record, rows.items(), film if film.name in seals_of(record) and film.is_file() else None)
        except Exception as error:  # W&B's service can die at any moment, and its server can answer anything
            with self._lock:
                self._failed_in_a_row += 1
                self.failed[run] = in_a_line(error)
            if not self.destination.online:
                self.end()  # the next run starts a new service
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
    """A folder for W&B's files: for offline runs on the store's disk, under a name that no run can have."""
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
    """Moves complete offline runs to their places, and removes folders of earlier attempts at the same runs."""
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
            # W&B's own logs and empty folders would be nine more files for each run; a film is in files/media.
            for entry in made[run].iterdir():
                if entry.is_dir() and not (entry / "media").is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
            made[run].rename(store.wandb_folder / made[run].name)
