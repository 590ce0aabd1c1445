"""The messages of a launcher about a sweep, before its workers start and after they have ended."""

from collections import Counter
from collections.abc import Collection, Sequence

from launch.launchers.finished import (
    SweepFailed,
    result,
    say_all_finished,
    say_finished,
    say_next,
    say_of_finished,
)
from launch.launchers.prepare import Prepared, put_in_order
from launch.packs.begun_otherwise import binding_of
from launch.packs.endings import ending_of
from launch.packs.todo import how_to_try_again
from launch.plan.first_compiling import first_compiling
from launch.plan.table import print_plan, training_seconds
from launch.wording import counted, in_time, say
from plasticity_lab.records.index_files import Digests, Outcome
from plasticity_lab.records.kinds import goes_on, is_cpu, sort_of
from plasticity_lab.records.plan import Pack, read_plan
from plasticity_lab.records.provenance import CHECKOUT, why_no_commit
from plasticity_lab.records.record import STATUSES, add_asked_as, read_record
from plasticity_lab.records.record_facts import failures
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
        for error in [*ready.todo.corrupt, *ready.unreadable]:
            say(str(error))
        _say_of_plan(ready)
        finished = len(ready.todo.finished)
        print_plan(ready.plan.packs, ready.plan.runs, finished, ready.resources, workers, settings, ready.cost_of)
    if settings.dry_run:
        return False
    for words in put_in_order(ready):
        say(words)
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
    asked = {run.id: run for run in runs}
    failed: set[str] = set()
    waiting: set[str] = set()
    errors, elsewhere = [], set()
    for pack in planned.packs:
        asked_of_pack = asked.keys() & pack.runs
        ending = ending_of(store, pack.id)
        if ending is None:
            waiting |= asked_of_pack
            elsewhere |= _kinds_elsewhere(ready, pack)
        elif ending.failed:
            failed |= asked_of_pack
            errors += [ending.error] if asked_of_pack else []
    outcomes = _recorded(store, [asked[run] for run in asked.keys() - failed - waiting])
    waiting |= asked.keys() - failed - outcomes.keys()
    failed |= {run for run, outcome in outcomes.items() if outcome.failures}
    counts = Counter(outcome.status for outcome in outcomes.values())
    counts |= {"failed": len(failed), "not finished": len(waiting)}
    words = ", ".join(f"{counts[status]:,} {status}" for status in (*STATUSES, "not finished") if counts[status])
    if not failed and not waiting:
        if len(asked) == 1:
            say(result(store, *asked))
        else:
            say_finished(store, len(asked), f": {words}")
        say_next(store, list(asked))
        return
    why = [*dict.fromkeys(errors), *reasons[:1], *_ways_out(store, failed, planned.settings.launch.retries, elsewhere)]
    reason = " ".join(why) or "the workers ended early; the same command goes on."
    raise SweepFailed(f"Of {counted(len(runs), 'run')} {words}: {reason}")


def _ways_out(store: Store, failed: Collection[str], retries: float, kinds: Collection[str]) -> list[str]:
    """Sentences about runs that the same command does not train.

    kinds: the kinds of device that can continue unfinished runs.
    """
    often = {run: failures(read_record(store, run)) for run in failed}
    given_up = {run: times for run, times in often.items() if times > retries}
    words = [how_to_try_again(given_up)] if given_up else []
    if kinds:
        words.append(f"Some were begun on {', '.join(sorted(kinds))}; there the same command continues them.")
    return words


def _recorded(store: Store, runs: Sequence[Run]) -> dict[str, Outcome]:
    """Run → its outcome, for runs with a record.  Adds the names that the command uses for the runs to the records."""
    index, digest = RunIndex(store), Digests()
    outcomes = {run.id: outcome for run in runs if (outcome := index.of(run.id)) is not None}
    for run in runs:
        if run.id in outcomes and any(digest(name) not in outcomes[run.id].names for name in run.asked_as):
            add_asked_as(store, run.id, run.asked_as)
    return outcomes


def _kinds_elsewhere(ready: Prepared, pack: Pack) -> set[str]:
    """The kind of device that can continue a pack; empty if workers of this command can continue it."""
    binding, here = binding_of(ready.store, pack), ready.resources.kind
    if binding is not None:
        return set() if goes_on(binding.kind, here) else {binding.kind}
    return set() if sort_of(pack.kind) == sort_of(here) else {pack.kind}


def _say_of_compiling(ready: Prepared) -> None:
    """Prints the time until the end, and how to avoid compiling, if compiling takes longer than training."""
    packs, workers = ready.plan.packs, ready.resources.workers
    first = first_compiling(packs, ready.plan.runs, ready.cost_of, workers, ready.resources.kind)
    trained = training_seconds(packs, workers)
    if first.seconds > trained:
        say(f"About {in_time(trained + first.seconds)}{first.words(trained)}.")


def _say_of_plan(ready: Prepared) -> None:
    """Prints notes on the plan, each only if it applies:

    - which packs go on as they began, and which packs are replaced;
    - which parts of the plan are uncertain;
    - which facts the records will lack;
    - which finished runs are not trained, although a user may expect it.
    """
    for words in ready.earlier.said:
        say(words)
    if not ready.resources.known and is_cpu(ready.resources.kind) and ready.plan.packs:
        say(
            f"Modes and widths are planned for {ready.resources.kind} and may change: a worker on another kind of CPU "
            "takes its own for packs that it begins."
        )
    if ready.plan.code["commit"] is None and (CHECKOUT / ".git").exists():
        say(f"The records will name no commit, only a digest of the code: {CHECKOUT}: {why_no_commit()}.")
    say_of_finished(ready.todo, ready.settings)
