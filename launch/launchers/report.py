"""What is said of a sweep before its workers start and when they have ended."""

from collections.abc import Mapping, Sequence

from launch.launchers.finished import (
    SweepFailed,
    result,
    say_all_finished,
    say_finished,
    say_next,
    say_of_finished,
)
from launch.launchers.prepare import CostOf, Prepared, Resources, put_in_order
from launch.packs.bindings import binding_of
from launch.packs.endings import ending_of
from launch.packs.todo import how_to_try_again
from launch.plan.first_compiling import first_compiling
from launch.plan.store_size import memory_bytes, store_bytes
from launch.plan.table import print_plan, training_seconds
from launch.wording import counted, in_time, say
from plasticity_lab.records.index_files import Digests
from plasticity_lab.records.kinds import goes_on, is_cpu, sort_of
from plasticity_lab.records.plan import Pack, read_plan
from plasticity_lab.records.provenance import CHECKOUT, why_no_commit
from plasticity_lab.records.record import STATUSES, add_asked_as, read_record
from plasticity_lab.records.record_facts import failures
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run


def show_plan(ready: Prepared, workers: int) -> None:
    """What `dry_run=true` prints.  workers: how many train at once."""
    for error in [*ready.todo.corrupt, *ready.unreadable]:
        say(str(error))
    _say_of_code(ready)
    say_of_finished(ready.todo, ready.settings)
    if ready.earlier.otherwise_looked_at:
        say(ready.earlier.otherwise_looked_at)
    finished = len(ready.todo.finished)
    print_packs(ready.plan.packs, ready.plan.runs, finished, ready.resources, workers, ready.settings, ready.cost_of)


def print_packs(
    packs: Sequence[Pack],
    runs: Mapping[str, Run],
    finished: int,
    resources: Resources,
    workers: int,
    settings: Settings,
    cost_of: CostOf,
) -> None:
    """Prints packs of runs and what they would cost.  finished: how many runs beside them are finished already."""

    def why(pack: Pack) -> str:
        choice = resources.choice(cost_of(runs[pack.runs[0]]), settings.mode)
        return choice.why if choice.mode == pack.mode else "as planned before"

    stored = store_bytes(packs, runs, settings.save_weights, cost_of, settings.save_weights_every)
    memories = memory_bytes(packs, runs, cost_of, workers)
    first = first_compiling(packs, runs, cost_of, workers, resources.kind if resources.known else None)
    print_plan(packs, finished, workers, resources.calibration, stored, memories, first, why)


def settled(ready: Prepared) -> bool:
    """Puts the store in order and the plan into it, and says what that took; False if all runs are finished already.

    Raises StoreError; SweepFailed if nothing is left but runs that failed too often to be tried again.
    """
    for words in put_in_order(ready):
        say(words)
    if ready.todo.left:
        return True
    say_all_finished(ready.store, ready.todo, ready.settings)
    return False


def say_planned(ready: Prepared) -> None:
    """What `plan_only=true` says last, when the plan is in the store."""
    say(
        f"Sweep {ready.plan.sweep}: {counted(len(ready.todo.left), 'run')} planned in {ready.store.root}, none begun; "
        "the same command without plan_only=true trains them."
    )


def announce(ready: Prepared, workers: str) -> None:
    """What is to be trained.  workers: who does it, as "3 workers on cpu"."""
    planned, todo = ready.plan, ready.todo
    others = len(planned.runs.keys() - set(planned.asked))
    along = f" (with {others:,} of other sweeps that share their packs)" if others else ""
    done = f", {len(todo.finished):,} finished already" if todo.finished else ""
    say(
        f"Sweep {planned.sweep}: {counted(len(todo.left), 'run')}{along} to train in "
        f"{counted(len(planned.packs), 'pack')}{done}; {workers}; store {ready.store.root}"
    )
    _say_of_code(ready)
    say_of_finished(ready.todo, ready.settings)
    if ready.earlier.otherwise_looked_at:
        say(ready.earlier.otherwise_looked_at)
    for family, width in sorted({(pack.family, pack.width) for pack in planned.packs if pack.narrowed}):
        say(f"Packs of {family} are {counted(width, 'run')} wide: more do not fit into memory.")
    if uncompiled := ready.resources.uncompiled:
        say(f"Every run is computed eager, which is slower for long ones: {uncompiled.sentence}.")
    if ready.resources.known:
        _say_of_compiling(ready)


def report(ready: Prepared, runs: Sequence[Run], reasons: Sequence[str]) -> None:
    """What became of the runs, once the workers have ended; reasons: why some ended early.

    Raises SweepFailed if any run is not finished, with the reason that weighs most.
    """
    store = ready.store
    planned = read_plan(store, ready.plan.sweep)  # with the packs that were divided meanwhile
    asked = {run.id: run for run in runs}
    failed: set[str] = set()
    waiting: set[str] = set()
    errors, elsewhere = [], []
    for pack in planned.packs:
        ending = ending_of(store, pack.id)
        if ending is None:
            waiting |= asked.keys() & pack.runs
            elsewhere += _kinds_elsewhere(ready, pack)
        elif ending.failed:
            failed |= asked.keys() & pack.runs
            errors += [ending.error] if asked.keys() & pack.runs else []
    counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
    index, digest = RunIndex(store), Digests()
    for run in asked.keys() - failed - waiting:
        outcome = index.of(run)
        if outcome is None:
            waiting.add(run)
            continue
        failed |= {run} if outcome.failures else set()
        counts[outcome.status] += 1
        if any(digest(name) not in outcome.names for name in asked[run].asked_as):
            add_asked_as(store, run, asked[run].asked_as)
    counts["failed"] = len(failed)
    words = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    if not failed and not waiting:
        if len(asked) == 1:
            say(result(store, *asked))
        else:
            say_finished(store, len(asked), f": {words}")
        say_next(store, list(asked))
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


def _kinds_elsewhere(ready: Prepared, pack: Pack) -> list[str]:
    """On which kind of device a pack was begun that goes on only there, if it is another than this command's."""
    bound = binding_of(ready.store, pack)
    begun = pack.kind if bound is None else bound.kind
    here = sort_of(begun) == sort_of(ready.resources.kind) if bound is None else goes_on(begun, ready.resources.kind)
    return [] if here else [begun]


def _say_of_compiling(ready: Prepared) -> None:
    """Says how long it takes if that is mostly compiling, and how to do without: who waits would not know why."""
    packs, workers = ready.plan.packs, ready.resources.workers
    first = first_compiling(packs, ready.plan.runs, ready.cost_of, workers, ready.resources.kind)
    trained = training_seconds(packs, workers)
    if first.seconds > trained:
        say(f"About {in_time(trained + first.seconds)}{first.words(trained)}.")


def _say_of_code(ready: Prepared) -> None:
    """Says what records will not be able to say: that one code made the run, or which commit that was; what is trained
    anew; and which of the plan is not certain.
    """
    if ready.earlier.anew:
        say(ready.earlier.anew)
    if ready.earlier.mixed:
        say(ready.earlier.mixed)
    if not ready.resources.known and is_cpu(ready.resources.kind) and ready.plan.packs:
        say(
            f"Modes and widths are planned for {ready.resources.kind} and may change: a worker on another kind of CPU "
            "takes its own for packs that it begins."
        )
    if ready.plan.code["commit"] is None and (CHECKOUT / ".git").exists():
        say(f"The records will name no commit, only a digest of the code: {CHECKOUT}: {why_no_commit()}.")
