"""What is said of a sweep before its workers start and when they have ended."""

from collections.abc import Sequence

from launch.launchers.prepare import Resources
from launch.packs.endings import ending_of
from launch.packs.todo import Outstanding, how_to_try_again, settle
from launch.plan.table import print_plan
from launch.wording import counted, say
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.plan import Plan, read_plan
from plasticity_lab.records.record import STATUSES, add_asked_as, failures, read_record
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


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
    if todo.given_up:
        say(how_to_try_again(todo.given_up))
    for label, width in sorted({(pack.label, pack.width) for pack in planned.packs if pack.narrowed}):
        say(f"Packs of {label} are {counted(width, 'run')} wide: more do not fit into memory.")
    if not resources.compiler:
        say("No C++ compiler is there: every run is computed eager, which is slower for long ones; g++ would do.")


def report(store: Store, runs: Sequence[Run], sweep: str, kind: str, reasons: Sequence[str]) -> None:
    """What became of the runs, once the workers have ended; reasons: why some ended early.

    Raises SweepFailed if any run is not finished, with the reason that weighs most.
    """
    planned = read_plan(store, sweep)  # with the packs that were divided meanwhile
    asked = {run.id: run for run in runs}
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
    counts = dict.fromkeys(STATUSES, 0)
    for run in asked.keys() - failed - waiting:
        record = read_record(store, run)
        if record is None:
            waiting.add(run)
            continue
        failed |= {run} if failures(record) else set()
        counts[record["status"]] += 1
        add_asked_as(store, run, asked[run].asked_as)
    counts["failed"] = len(failed)
    words = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    if not failed and not waiting:
        say(f"{all_runs(len(runs))} finished: {words}. Records: {store.root}")
        return
    if waiting:
        words += f"{', ' if words else ''}{len(waiting):,} not finished"
    why = [*dict.fromkeys(errors), *reasons[:1]]
    often = {run: failures(read_record(store, run)) for run in failed}
    if given_up := {run: times for run, times in often.items() if times > planned.settings.launch.retries}:
        why.append(how_to_try_again(given_up))
    if elsewhere:
        why.append(f"Some were begun on {', '.join(sorted(set(elsewhere)))}; there the same command continues them.")
    reason = " ".join(why) or "the workers ended early; the same command goes on."
    raise SweepFailed(f"Of {counted(len(runs), 'run')} {words}: {reason}")


def show_plan(planned: Plan, todo: Outstanding, workers: int, resources: Resources, stored: int) -> None:
    """What `dry_run=true` prints.  stored: bytes that the store will grow by."""
    for error in todo.corrupt:
        say(str(error))
    if todo.given_up:
        say(how_to_try_again(todo.given_up))
    print_plan(planned.packs, len(todo.finished), workers, resources.calibration, stored)


def settled(store: Store, todo: Outstanding) -> bool:
    """Puts the store in order, and says what that took; False if all runs are finished already.

    Raises StoreError; SweepFailed if nothing is left but runs that failed too often to be tried again.
    """
    if todo.left or todo.renamed:
        store.prepare()
    for words in settle(store, todo):
        say(words)
    if not todo.left:
        _nothing_left(store, todo)
    return bool(todo.left)


def _nothing_left(store: Store, todo: Outstanding) -> None:
    """Says so, or raises SweepFailed."""
    runs = len(todo.finished) + len(todo.given_up)
    if todo.given_up:
        words = f"Of {counted(runs, 'run')} {len(todo.finished):,} finished already, {len(todo.given_up):,} failed."
        raise SweepFailed(f"{words} {how_to_try_again(todo.given_up)}")
    say(f"{all_runs(runs)} finished already; rerun=true trains again. Records: {store.root}")


def all_runs(runs: int) -> str:
    """How a sentence about all of them begins."""
    return "The run is" if runs == 1 else f"All {runs:,} runs are"
