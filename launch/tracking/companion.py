"""The process that writes a worker's runs to W&B: if it fails, training goes on.

    python -m launch.tracking.companion --store STORE --sweep SWEEP --project PROJECT [--offline]

It reads orders from stdin, a line each, and writes an answer to each to stdout; it ends with its stdin.
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
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from launch.runs.answers import answers_kept
from launch.tracking.client import Answer
from launch.tracking.wandb.content import Row
from launch.tracking.wandb.environment import in_a_line
from launch.tracking.wandb.marks import Destination, written
from launch.tracking.wandb.writer import OpenRun, end_service, own_service, write_runs
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.store import Store

NICENESS = 19
MOST_FAILED_PACKS = 2
"""The companion ends after this many packs in a row without a written run: W&B cannot be reached."""
ALONE_SECONDS = 60.0
"""Time that it may go on without the worker if W&B does not answer."""


class Companion:
    """Carries out the worker's orders.  answer: reports to the worker."""

    def __init__(
        self, store: Store, destination: Destination, sweep: str, folder: Path, answer: Callable[[Answer], None]
    ) -> None:
        self.store, self.destination, self.sweep, self.folder, self.answer = store, destination, sweep, folder, answer
        self.live: dict[str, OpenRun] = {}
        self.failed_packs = 0

    def begin(self, runs: Sequence[Mapping[str, Any]]) -> Answer:
        """Opens runs, to be followed live."""
        for run in runs:
            try:
                self.live[run["run"]] = OpenRun(run, self.destination, self.folder, self.sweep)
            except Exception as error:
                # Runs that cannot be seen live are written when they have finished.
                self.leave()
                return Answer(not_live=in_a_line(error))
        return Answer()

    def rows(self, rows: Mapping[str, Sequence[Row]]) -> Answer:
        """Writes new rows of open runs."""
        return self._in_open_runs(lambda run, name: run.log(rows.get(name, ())))

    def state(self, state: str) -> Answer:
        """Shows the worker's state in open runs."""
        return self._in_open_runs(lambda run, name: run.show_state(state))

    def finish(self, runs: Sequence[str]) -> Answer:
        """Writes runs from their records, unless they are written already."""
        begun, self.live = self.live, {}
        self.failed_packs += 1
        try:
            records = self._not_written(runs)
            groups = dict.fromkeys(runs, self.sweep)
            failed = write_runs(self.store, self.destination, records, groups, begun, lambda: self.answer(Answer()))
        except PlasticityError as error:
            return Answer(finished=True, failed=dict.fromkeys(runs, str(error)))
        if len(failed) < len(records) or not records:
            self.failed_packs = 0
        shutil.rmtree(self.folder / "wandb", ignore_errors=True)
        return Answer(finished=True, failed=failed)

    def leave(self) -> Answer:
        """Closes the open runs unfinished."""
        for run in self.live.values():
            with contextlib.suppress(Exception):
                run.leave()
        self.live = {}
        end_service()
        shutil.rmtree(self.folder / "wandb", ignore_errors=True)
        return Answer()

    def _in_open_runs(self, write: Callable[[OpenRun, str], None]) -> Answer:
        """Writes to each open run, by its id; after an error, no run is followed live."""
        for name, run in self.live.items():
            try:
                write(run, name)
            except Exception as error:
                self.leave()
                return Answer(not_live=in_a_line(error))
        return Answer()

    def _not_written(self, runs: Sequence[str]) -> list[Mapping[str, Any]]:
        """The readable records of the runs that are not in W&B."""
        records = []
        for run in runs:
            with contextlib.suppress(CorruptRecord):
                record = read_record(self.store, run)
                if record and run not in written(self.store, record["provenance"]["pack"], self.destination):
                    records.append(record)
        return records


ORDERS = ("begin", "rows", "state", "finish", "leave")
"""The methods of `Companion` that the worker may call."""


def follow(companion: Companion, lines: Iterable[str]) -> None:
    """Carries out the order of each line, until the last one, or until W&B cannot be reached."""
    for line in lines:
        order, content = json.loads(line)
        if order in ORDERS:
            companion.answer(getattr(companion, order)(*content))
        else:
            companion.answer(Answer(error=f"there is no order '{order}'; the orders are {', '.join(ORDERS)}"))
        if companion.failed_packs == MOST_FAILED_PACKS:
            break
    companion.leave()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    time.sleep(ALONE_SECONDS)
    os._exit(1)


def main(arguments: list[str] | None = None) -> int:
    """The command.  Returns its exit status."""
    parser = argparse.ArgumentParser("python -m launch.tracking.companion", description="Write a worker's runs to W&B.")
    parser.add_argument("--store", type=Path, required=True, help="the folder of records; required")
    parser.add_argument("--sweep", required=True, help="the sweep's id; required")
    parser.add_argument("--entity", default="")
    parser.add_argument("--project", required=True, help="of W&B; required")
    parser.add_argument("--offline", action="store_true", help="write offline runs into the store")
    options = parser.parse_args(arguments)
    # A signal for the worker, or for all processes of a job, must not keep this one from its last rows.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # Only answers go to the old stdout, whatever W&B prints. W&B's service, which can outlive this process, does not
    # keep that pipe open.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    destination = Destination(not options.offline, options.entity, options.project)
    with (
        TemporaryDirectory(prefix="plasticity-wandb-", ignore_cleanup_errors=True) as folder,
        own_service(),
        answers_kept(),
    ):

        def answer(given: Answer) -> None:
            print(json.dumps(asdict(given)), file=answers, flush=True)

        follow(Companion(Store(options.store), destination, options.sweep, Path(folder), answer), sys.stdin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
