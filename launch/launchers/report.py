"""The messages of a launcher about a sweep, before its workers start and after they have ended."""

from collections import Counter
from collections.abc import Sequence

from launch.launchers.finished import SweepFailed, result, say_all_finished, say_finished, say_next, say_of_finished
from launch.launchers.prepare import Prepared, put_in_order
from launch.packs.begun_otherwise import binding_of
from launch.packs.sweep import UNFINISHED, state_of
from launch.packs.todo import how_to_try_again
from launch.plan.forecast import forecast
from launch.plan.table import print_plan
from launch.wording import counted, in_time, say
from plasticity_lab.records.index_files import Digests
from plasticity_lab.records.kinds import is_cpu, sort_of
from plasticity_lab.records.plan import Pack, read_plan
from plasticity_lab.records.provenance import CHECKOUT, why_no_commit
from plasticity_lab.records.record import STATUSES, add_asked_as
from plasticity_lab.records.record_facts import MEASURED
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


def to_be_trained(ready: Prepared, workers: int) -> bool:
    """Tidies the store and writes the plan into it.  Returns whether workers are to be started.

    With `dry_run` it only prints the plan; with `plan_only` it writes and prints the plan. workers: the number of
    workers that train at once.
    Raises StoreError; SweepFailed if no run is left to train and some failed too often to be tried again.
    """
    settings = ready.settings
    if settings.dry_run or settings.plan_only:
        say(*ready.todo.corrupt, *ready.unreadable)
        _say_of_plan(ready)
        finished = len(ready.todo.finished)
        print_plan(ready.plan.packs, ready.plan.runs, finished, ready.resources, workers, settings, ready.cost_of)
    if settings.dry_run:
        return False
    say(*put_in_order(ready))
    if not ready.todo.left:
        say_all_finished(ready.store, ready.todo, settings)
    elif settings.plan_only:
        say(
            f"Sweep {ready.plan.sweep}: {counted(len(ready.todo.left), 'run')} planned in {ready.store.root}, none "
            "begun; the same command without plan_only=true trains them."
        )
    return bool(ready.todo.left) and not settings.plan_only


def announce(ready: Prepared, workers: str) -> None:
    """Prints which runs are to be trained.  workers: the workers in words, such as "3 workers on cpu"."""
    planned, todo = ready.plan, ready.todo
    others = len(planned.runs.keys() - set(planned.asked))
    along = f" (with {others:,} of other sweeps that share their packs)" if others else ""
    done = f", {len(todo.finished):,} finished already" if todo.finished else ""
    say(
        f"Sweep {planned.sweep}: {counted(len(todo.left), 'run')}{along} to train in "
        f"{counted(len(planned.packs), 'pack')}{done}; {workers}; store {ready.store.root}"
    )
    _say_of_plan(ready)
    for family, width in sorted({(pack.family, pack.width) for pack in planned.packs if pack.narrowed}):
        say(f"Packs of {family} are {counted(width, 'run')} wide: more do not fit into memory.")
    if uncompiled := ready.resources.uncompiled:
        say(f"Every run is computed eager, which is slower for long ones: {uncompiled.sentence}.")
    if ready.resources.known:
        _say_of_compiling(ready)


def report(ready: Prepared, runs: Sequence[Run], reasons: Sequence[str]) -> None:
    """Prints how the runs ended, after their workers have ended.  reasons: the reasons why workers ended early.

    Raises SweepFailed with the most important reasons if any run is not finished.
    """
    store = ready.store
    planned = read_plan(store, ready.plan.sweep)  # with the packs that were divided during training
    sweep = state_of(store, planned)
    states = {run.id: sweep.states[run.id] for run in runs}
    _add_names(store, [run for run in runs if states[run.id] in MEASURED])
    counts = Counter("not finished" if state in UNFINISHED else state for state in states.values())
    words = ", ".join(f"{counts[status]:,} {status}" for status in (*STATUSES, "not finished") if counts[status])
    if not counts["failed"] and not counts["not finished"]:
        if len(states) == 1:
            say(result(store, *states))
        else:
            say_finished(store, len(states), f": {words}")
        say_next(store, list(states))
        return
    why = [error for error, failed in sweep.failed.items() if not states.keys().isdisjoint(failed)]
    why += reasons[:1]
    given_up = {run: often for run, often in sweep.given_up.items() if run in states}
    why += [how_to_try_again(given_up)] if given_up else []
    left = [pack for pack in planned.packs if not store.done(pack.id).exists()]
    if kinds := set[str]().union(*(_kinds_elsewhere(ready, pack) for pack in left)):
        why.append(f"Some were begun on {', '.join(sorted(kinds))}; there the same command continues them.")
    reason = " ".join(why) or "the workers ended early; the same command goes on."
    raise SweepFailed(f"Of {counted(len(runs), 'run')} {words}: {reason}")


def _add_names(store: Store, runs: Sequence[Run]) -> None:
    """Adds the names that the command uses for recorded runs to their records."""
    index, digest = RunIndex(store), Digests()
    for run in runs:
        outcome = index.of(run.id)
        if outcome is not None and any(digest(name) not in outcome.names for name in run.asked_as):
            add_asked_as(store, run.id, run.asked_as)


def _kinds_elsewhere(ready: Prepared, pack: Pack) -> set[str]:
    """The kind of device that can continue a pack; empty if workers of this command can continue it."""
    binding, here = binding_of(ready.store, pack), ready.resources.kind
    if binding is not None:
        return {binding.kind} - {here}
    return set() if sort_of(pack.kind) == sort_of(here) else {pack.kind}


def _say_of_compiling(ready: Prepared) -> None:
    """Prints the time until the end, and how to avoid compiling, if compiling takes longer than training."""
    planned, resources = ready.plan, ready.resources
    time = forecast(planned.packs, planned.runs, ready.cost_of, resources.workers, resources)
    if time.compiling.seconds > time.training:
        say(f"About {in_time(time.seconds)}{time.words}.")


def _say_of_plan(ready: Prepared) -> None:
    """Prints notes on the plan, each only if it applies:

    - which packs go on as they began, and which packs are replaced;
    - which parts of the plan are uncertain;
    - which facts the records will lack;
    - which finished runs are not trained, although a user may expect it.
    """
    say(*ready.earlier.said)
    if not ready.resources.known and is_cpu(ready.resources.kind) and ready.plan.packs:
        say(
            f"Modes and widths are planned for {ready.resources.kind} and may change: a worker on another kind of CPU "
            "takes its own for packs that it begins."
        )
    if ready.plan.code["commit"] is None and (CHECKOUT / ".git").exists():
        say(f"The records will name no commit, only a digest of the code: {CHECKOUT}: {why_no_commit()}.")
    say_of_finished(ready.todo, ready.settings)
