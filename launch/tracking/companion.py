"""The process beside a worker that writes its runs to W&B: whatever happens to W&B happens here, not to the training.

    python -m launch.tracking.companion --store STORE --sweep SWEEP --place online --project PROJECT

On stdin a line of JSON for each thing to do, on stdout one for each thing done; it ends with its stdin.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from launch.tracking.content import Row
from launch.tracking.marks import Place, written
from launch.tracking.open_run import OpenRun, end_service, own_service
from launch.tracking.writer import in_a_line, write_runs
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.record import CorruptRecord, read_record
from plasticity_lab.records.store import Store

NICENESS = 19
IN_VAIN = 2
"""After so many packs in a row of which no run could be written it ends: W&B is not to be had."""
ALONE_SECONDS = 60.0
"""How long it may go on without the worker, when W&B does not answer."""


class Tracker:
    """Does what the worker says.  Each verb is a word that `client` sends, and returns what to answer."""

    def __init__(
        self, store: Store, place: Place, sweep: str, folder: Path, answer: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self.store, self.place, self.sweep, self.folder, self.answer = store, place, sweep, folder, answer
        self.live: dict[str, OpenRun] = {}
        self.in_vain = 0

    def begin(self, runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Opens runs that are to be seen while they train."""
        for run in runs:
            try:
                self.live[run["id"]] = OpenRun(run, self.place, self.folder, self.sweep)
            except Exception as error:
                # What cannot be seen live is written when it has finished.
                self.leave()
                return {"not_live": in_a_line(error)}
        return {}

    def rows(self, rows: Mapping[str, Sequence[Row]]) -> Mapping[str, Any]:
        """Writes what open runs have measured since the last time."""
        for run in self.live.keys() & rows.keys():
            try:
                self.live[run].log(rows[run])
            except Exception as error:
                self.leave()
                return {"not_live": in_a_line(error)}
        return {}

    def finish(self, runs: Sequence[str]) -> Mapping[str, Any]:
        """Writes runs that have a record now, and are not written yet."""
        records = []
        for run in runs:
            with contextlib.suppress(CorruptRecord):
                record = read_record(self.store, run)
                if record is not None and run not in written(self.store, record["provenance"]["pack"], self.place):
                    records.append(record)
        begun, self.live = self.live, {}
        self.in_vain += 1
        groups = dict.fromkeys(runs, self.sweep)
        failed = write_runs(self.store, self.place, records, groups, begun, lambda: self.answer({}))
        if len(failed) < len(records) or not records:
            self.in_vain = 0
        shutil.rmtree(self.folder / "wandb", ignore_errors=True)
        return {"written": len(records) - len(failed), "failed": failed}

    def leave(self) -> Mapping[str, Any]:
        """Closes the open runs, which do not finish here."""
        for run in self.live.values():
            with contextlib.suppress(Exception):
                run.leave()
        self.live = {}
        end_service()
        shutil.rmtree(self.folder / "wandb", ignore_errors=True)
        return {}


def follow(tracker: Tracker, lines: Iterable[str]) -> None:
    """Does what each line says, until the last one, or until W&B proves not to be there."""
    for line in lines:
        verb, what = json.loads(line)
        try:
            tracker.answer(getattr(tracker, verb)(*what))
        except PlasticityError as error:
            tracker.live = {}
            tracker.answer({"failed": dict.fromkeys(what[0] if what else (), str(error))})
        if tracker.in_vain == IN_VAIN:
            break
    tracker.leave()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    time.sleep(ALONE_SECONDS)
    os._exit(1)


def main(arguments: list[str] | None = None) -> int:
    """The command.  Returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m launch.tracking.companion", description="Write a worker's runs to W&B."
    )
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--sweep", required=True)
    parser.add_argument("--place", choices=("online", "offline"), required=True)
    parser.add_argument("--entity", default="")
    parser.add_argument("--project", required=True)
    options = parser.parse_args(arguments)
    # Whoever stops the worker, or a batch system all of its processes, leaves this one its last rows.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # Answers alone go where stdout went, whatever W&B prints; and its service, which can outlive this process, does not
    # keep that open.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    place = Place(options.place == "online", options.entity, options.project)
    with TemporaryDirectory(prefix="plasticity-wandb-", ignore_cleanup_errors=True) as folder, own_service():

        def answer(what: Mapping[str, Any]) -> None:
            print(json.dumps(what), file=answers, flush=True)

        follow(Tracker(Store(options.store), place, options.sweep, Path(folder), answer), sys.stdin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
