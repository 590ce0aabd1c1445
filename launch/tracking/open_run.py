"""One W&B run while it is written. This file alone talks to wandb, and importing it takes half a second."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# Read by wandb when it is imported: without it, it tells the terminal where it found its key.
os.environ.setdefault("WANDB_SILENT", "true")

import wandb

from launch.tracking import content
from launch.tracking.marks import Destination


class OpenRun:
    """A run being written.  What goes wrong in W&B comes out as an exception of whatever kind.

    run: a resolved run, or a record. folder: where W&B may write. sweep: the group the run belongs to.
    """

    def __init__(self, run: Mapping[str, Any], destination: Destination, folder: Path, sweep: str | None) -> None:
        self._last = 0
        # Without `resume`, W&B writes a run that is there already anew under its id: nothing appears twice.
        self._run = wandb.init(
            entity=destination.entity or None,
            project=destination.project,
            id=run["run"],
            group=sweep,
            name=content.name(run["science"]),
            config=content.config(run),
            tags=content.tags(run),
            dir=folder,
            reinit="create_new",
            settings=_settings(destination.online),
        )
        for metrics, axis in content.AXES.items():
            self._run.define_metric(metrics, step_metric=axis)

    def log(self, rows: Iterable[content.Row]) -> None:
        """Writes rows, in order; the last one may come again, in parts.  Rows before it are passed over."""
        for number, values in rows:
            if number >= self._last:
                self._run.log(values, step=number)
                self._last = number

    def complete(self, record: Mapping[str, Any], rows: Iterable[content.Row]) -> None:
        """Writes what the record knows and the run does not yet, and ends it."""
        self.log(rows)
        self._run.config.update({"provenance": dict(record["provenance"])}, allow_val_change=True)
        self._run.tags = tuple(content.tags(record))
        self._run.summary.update(content.summary(record))
        self._run.finish(exit_code=1 if record["status"] == "failed" else 0)

    def leave(self) -> None:
        """Ends a run whose training was interrupted; W&B calls it preempted, until it goes on."""
        self._run.mark_preempting()
        self._run.finish(exit_code=1)


@contextlib.contextmanager
def own_service() -> Iterator[None]:
    """W&B with a service of this process's own and the settings of this moment; afterwards nothing of it is left.

    wandb keeps address, key and service until it is told to end, and hands its service on to child processes in the
    environment: one that is somebody else's would not end, and so not complete its files, when it is told to here.
    """
    end_service()
    os.environ.pop("WANDB_SERVICE", None)
    try:
        yield
    finally:
        end_service()


def begin_service() -> None:
    """Starts W&B's service and reads the settings of this moment, before several threads open runs at once.

    Of threads that begin it together, some would get settings that lack the environment's, the server's address too.
    What goes wrong shows again when a run is opened.
    """
    with contextlib.suppress(Exception):
        wandb.setup()


def end_service() -> bool:
    """Ends W&B's service, which writes files to their end only now.  Returns whether it was there to do that."""
    try:
        wandb.teardown()
    except (Exception, SystemExit):  # wandb would leave the process with the status of a service that failed
        with contextlib.suppress(Exception):
            wandb.teardown()  # what the first call did not come to: it forgets the key
        return False
    return True


def _settings(online: bool) -> wandb.Settings:
    """Runs and nothing else: of the machine, the code and the console W&B would collect several times as much."""
    return wandb.Settings(
        mode="online" if online else "offline",
        console="off",
        silent=True,
        symlink=False,
        disable_code=True,
        disable_git=True,
        disable_job_creation=True,
        save_code=False,
        # Asked on W&B's pages to stop a run, it would interrupt this process and not the training.
        stop_fn=lambda: None,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )
