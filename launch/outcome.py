"""What is said of a sweep before its workers start and when they have ended."""

import sys
from collections.abc import Sequence

from launch.endings import ending_of
from launch.outstanding import Outstanding, Run, settle
from launch.plan_file import Plan
from launch.plan_table import counted, print_plan
from launch.planning import Resources
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.record import STATUSES, add_asked_as, read_record
from plasticity_lab.records.store import Store


class SweepFailed(PlasticityError):
    """Some runs of a sweep failed, or its workers ended before it did."""


def announce(planned: Plan, todo: Outstanding, resources: Resources, store: Store, workers: str) -> None:
    """What is to be trained.  workers: who does it, as "3 workers on cpu"."""
    mates = len(planned.runs.keys() - set(planned.asked))
    along = f" (with {mates:,} of other sweeps that share their packs)" if mates else ""
    done = f", {len(todo.finished):,} finished already" if todo.finished else ""
    say(
        f"Sweep {planned.sweep}: {counted(len(todo.left), 'run')}{along} to train in "
        f"{counted(len(planned.packs), 'pack')}{done}; {workers}; store {store.root}"
    )
    for label, width in sorted({(pack.label, pack.width) for pack in planned.packs if pack.narrowed}):
        say(f"Packs of {label} are {counted(width, 'run')} wide: more do not fit into memory.")
    if not resources.compiler:
        say("No C++ compiler is there: every run is computed eager, which is slower for long ones; g++ would do.")


def report(store: Store, runs: Sequence[Run], planned: Plan, kind: str, reasons: Sequence[str]) -> None:
    """What became of the runs, once the workers have ended; reasons: why some ended early.

    Raises SweepFailed if any run is not finished, with the reason that weighs most.
    """
    asked = {run["id"]: run for run in runs}
    failed: set[str] = set()
    waiting: set[str] = set()
    errors, elsewhere = [], []
    for pack in planned.packs:
        ending = ending_of(store, pack.id)
        if ending is None:
            waiting |= asked.keys() & pack.runs
            elsewhere += [pack.kind] if pack.kind != kind else []
        elif ending.failed:
            failed |= asked.keys() & pack.runs
            errors.append(ending.error)
    counts = dict.fromkeys(STATUSES, 0) | {"failed": len(failed)}
    for run in asked.keys() - failed - waiting:
        record = read_record(store, run)
        if record is None:
            waiting.add(run)
            continue
        counts[record["status"]] += 1
        add_asked_as(store, run, asked[run]["asked_as"])
    words = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    if not failed and not waiting:
        say(f"{all_runs(len(runs))} finished: {words}. Records: {store.root}")
        return
    if waiting:
        words += f"{', ' if words else ''}{len(waiting):,} not finished"
    why = [*dict.fromkeys(errors), *reasons[:1]]
    if elsewhere:
        why.append(f"Some were begun on {', '.join(sorted(set(elsewhere)))}; there the same command continues them.")
    reason = " ".join(why) or "the workers ended early; the same command goes on."
    raise SweepFailed(f"Of {counted(len(runs), 'run')} {words}: {reason}")


def show_plan(planned: Plan, todo: Outstanding, workers: int, resources: Resources, stored: int) -> None:
    """What `dry_run=true` prints.  stored: bytes that the store will grow by."""
    for error in todo.corrupt:
        say(str(error))
    print_plan(planned.packs, len(todo.finished), workers, resources.calibration, stored)


def settled(store: Store, todo: Outstanding, runs: int) -> bool:
    """Puts the store in order, and says what that took; False if all runs are finished already.  Raises StoreError."""
    if todo.left or todo.renamed:
        store.prepare()
    for words in settle(store, todo):
        say(words)
    if not todo.left:
        finished_already(store, runs)
    return bool(todo.left)


def finished_already(store: Store, runs: int) -> None:
    """Says that there is nothing to do."""
    say(f"{all_runs(runs)} finished already; rerun=true trains again. Records: {store.root}")


def all_runs(runs: int) -> str:
    """How a sentence about all of them begins."""
    return "The run is" if runs == 1 else f"All {runs:,} runs are"


def say(words: str) -> None:
    """A line on stderr, at once."""
    print(words, file=sys.stderr, flush=True)
