"""One W&B run while it is written. This file alone talks to wandb, and importing it takes a second."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# Read by wandb when it is imported: without it, it prints to the terminal where it found its key.
os.environ.setdefault("WANDB_SILENT", "true")

import wandb

from launch.tracking.wandb import content
from launch.tracking.wandb.environment import only_heeded
from launch.tracking.wandb.marks import Destination
from launch.tracking.wandb.naming import run_name
from plasticity_lab.records.classifier import declared_in


class OpenRun:
    """A W&B run being written.  Errors of W&B come out as exceptions of any type.

    run: a run that is trained now, as `messages.described` has it, or the record of a finished one. folder: where W&B
    may write. sweep: the group the run belongs to.
    """

    def __init__(self, run: Mapping[str, Any], destination: Destination, folder: Path, sweep: str | None) -> None:
        self._last = 0
        self._has_state = False
        self._live = "status" not in run
        # Without `resume`, W&B overwrites a run that is already there under its id: no run appears twice.
        self._run = wandb.init(
            entity=destination.entity or None,
            project=destination.project,
            id=run["run"],
            group=sweep,
            name=run_name(run),
            config=content.config(run),
            tags=content.tags(run),
            dir=folder,
            reinit="create_new",
            settings=_settings(destination.online, self._live),
        )
        for metrics, axis in content.axes(declared_in(run)).items():
            self._run.define_metric(metrics, step_metric=axis)

    def log(self, rows: Iterable[content.Row]) -> None:
        """Writes rows, in order; the last one may come again, in parts.  Rows before it are passed over."""
        for number, values in rows:
            if number >= self._last:
                self._run.log(values, step=number)
                self._last = number

    def show_state(self, state: str) -> None:
        """Shows the worker's state in the summary, until the run is complete."""
        self._run.summary["state"] = state
        self._has_state = True

    def complete(self, record: Mapping[str, Any], rows: Iterable[content.Row]) -> None:
        """Writes what the record knows and the run does not yet, and ends it."""
        summary = content.summary(record)
        if not self._live:
            rows = content.dated(rows, record)
            summary = content.last_values(rows) | content.duration(record) | summary
        self.log(rows)
        self._run.config.update({"provenance": dict(record["provenance"])}, allow_val_change=True)
        self._run.tags = tuple(content.tags(record))
        self._hide_state()
        self._run.summary.update(summary)
        self._run.finish(exit_code=1 if record["status"] == "failed" else 0)

    def leave(self) -> None:
        """Ends a run whose training was interrupted; W&B calls it preempted, until it goes on."""
        self._hide_state()
        self._run.mark_preempting()
        self._run.finish(exit_code=1)

    def _hide_state(self) -> None:
        if self._has_state:
            del self._run.summary["state"]


@contextlib.contextmanager
def own_service() -> Iterator[None]:
    """W&B with a service that belongs to this process and the settings of this moment; both are gone afterwards.

    wandb keeps address, key and service until it is asked to end, and passes its service on to child processes in the
    environment. A service that belongs to another process would not end, and so not complete its files, when it
    is asked to here.
    """
    end_service()
    with only_heeded():
        try:
            yield
        finally:
            end_service()


def begin_service() -> None:
    """Starts W&B's service and reads the settings of this moment, before several threads open runs at once.

    If several threads started it together, some would get settings without those of the environment, such as the
    server's address. Errors are ignored here: they come again when a run is opened.
    """
    with contextlib.suppress(Exception):
        wandb.setup()


def end_service() -> bool:
    """Ends W&B's service, which completes its files only now.  Returns whether the service did so without an error."""
    try:
        wandb.teardown()
    except (Exception, SystemExit):  # if the service failed, wandb would exit this process with its status
        with contextlib.suppress(Exception):
            wandb.teardown()  # the first call stopped early: this one forgets the key
        return False
    return True


def _settings(online: bool, live: bool) -> wandb.Settings:
    """Runs and nothing else: of the machine, the code and the console W&B would collect several times as much.

    live: whether the run is trained while it is written. W&B puts the seconds that a run was open into its summary and
    overwrites all others, unless the summary is left to us: so for runs that were trained earlier it is.
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
        # If a user asks on W&B's pages to stop a run, wandb would interrupt this process and not the training.
        stop_fn=lambda: None,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
        x_server_side_derived_summary=not live,
    )
