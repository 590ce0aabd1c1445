"""What is said of a sweep before its workers start and when they have ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.outcomes import over_tasks, some_tasks, why_without
from launch.launchers.prepare import CostOf, Prepared, Resources, put_in_order
from launch.packs.bindings import binding_of
from launch.packs.endings import ending_of
from launch.packs.todo import Outstanding, how_to_try_again
from launch.plan.store_size import memory_bytes, store_bytes
from launch.plan.table import print_plan
from launch.runs.settings import store_option
from launch.wording import counted, flagged, say, some
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.index_files import Digests
from plasticity_lab.records.kinds import goes_on, is_cpu, sort_of
from plasticity_lab.records.own_classes import file_of_class
from plasticity_lab.records.plan import Pack, read_plan
from plasticity_lab.records.provenance import CHECKOUT, why_no_commit
from plasticity_lab.records.record import STATUSES, add_asked_as, failures, flags_of, read_record
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


class SweepFailed(PlasticityError):
    """Some runs of a sweep failed, or its workers ended before it did."""


def show_plan(ready: Prepared, workers: int) -> None:
    """What `dry_run=true` prints.  workers: how many train at once."""
    for error in [*ready.todo.corrupt, *ready.unreadable]:
        say(str(error))
    _say_of_code(ready)
    _say_of_finished(ready)
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
    print_plan(packs, finished, workers, resources.calibration, stored, memories, why)


def settled(ready: Prepared) -> bool:
    """Puts the store in order and the plan into it, and says what that took; False if all runs are finished already.

    Raises StoreError; SweepFailed if nothing is left but runs that failed too often to be tried again.
    """
    for words in put_in_order(ready):
        say(words)
    todo = ready.todo
    if todo.left:
        return True
    if todo.given_up:
        runs = len(todo.finished) + len(todo.given_up)
        words = f"Of {counted(runs, 'run')} {len(todo.finished):,} finished already, {len(todo.given_up):,} failed."
        raise SweepFailed(f"{words} {how_to_try_again(todo.given_up)}")
    _say_of_finished(ready)
    if len(todo.finished) == 1:
        say(f"The run is finished already; rerun=true trains it again. {_result(ready.store, todo.finished[0])}")
    else:
        _say_finished(ready.store, len(todo.finished), " already; rerun=true trains them again")
    _say_next(ready.store, todo.finished)
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
    _say_of_finished(ready)
    for family, width in sorted({(pack.family, pack.width) for pack in planned.packs if pack.narrowed}):
        say(f"Packs of {family} are {counted(width, 'run')} wide: more do not fit into memory.")
    if uncompiled := ready.resources.uncompiled:
        say(f"Every run is computed eager, which is slower for long ones: {uncompiled.sentence}.")


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
            say(_result(store, *asked))
        else:
            _say_finished(store, len(asked), f": {words}")
        _say_next(store, list(asked))
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


def _say_of_code(ready: Prepared) -> None:
    """Says what records will not be able to say: that one code made the run, or which commit that was; what is trained
    anew; and which of the plan is not certain.
    """
    if ready.anew:
        say(ready.anew)
    if ready.mixed:
        say(ready.mixed)
    if not ready.resources.known and is_cpu(ready.resources.kind) and ready.plan.packs:
        say(
            f"Modes and widths are planned for {ready.resources.kind} and may change: a worker on another kind of CPU "
            "takes its own for packs that it begins."
        )
    if ready.plan.code["commit"] is None and (CHECKOUT / ".git").exists():
        say(f"The records will name no commit, only a digest of the code: {CHECKOUT}: {why_no_commit()}.")


def _say_of_finished(ready: Prepared) -> None:
    """Says which runs are not trained though somebody may expect it."""
    todo: Outstanding = ready.todo
    if todo.given_up and todo.left:
        say(how_to_try_again(todo.given_up))
    for target, edited in todo.edited.items():
        say(
            f"{file_of_class(target)} or what it imports has changed since {target.rpartition('.')[2]} trained "
            f"{counted(len(edited), 'finished run')} ({some(edited, 3)}), which the command takes as they are; "
            "rerun=true trains them again."
        )
    if ready.settings.save_weights != "none" and todo.without_weights:
        count = len(todo.without_weights)
        were, them = ("was", "it") if count == 1 else ("were", "them")
        say(
            f"{counted(count, 'finished run')} {were} trained without save_weights=final, and no weights were kept; "
            f"rerun=true trains {them} again."
        )
    for name, without in todo.without_diagnostics.items():
        say(
            f"{counted(len(without), 'finished run')} ({some(without, 3)}) trained without diagnostics={name}, and "
            "the records have no columns of it; rerun=true trains them again, to the same other numbers."
        )
    if ready.looked_at:
        say(ready.looked_at)


def _say_finished(store: Store, runs: int, how: str) -> None:
    say(f"All {runs:,} runs are finished{how}. Records: {store.root}")


def _say_next(store: Store, runs: Sequence[str]) -> None:
    """Says which command shows more."""
    if len(runs) == 1:
        say(f"All about it: python -m launch show {runs[0]}{store_option(store)}")
    else:
        say(f"Their table: python -m analysis table{store_option(store)}")


def _result(store: Store, run: str) -> str:
    """How a finished run ended, what it came to, and where it is, in a line."""
    record: Any = read_record(store, run)
    if record is None:
        return f"Run {run} has no record."
    step = record.get("diverged_at_step") or record.get("stopped_at_step")
    ended = record["status"] + (f" at step {step:,}" if step else "")
    numbers = ", ".join(_numbers(record)) or _without_numbers(record)
    return f"Run {run} is {flagged(ended, flags_of(record))}: {numbers}. Record: {store.run_folder(run)}"


def _without_numbers(record: Mapping[str, Any]) -> str:
    """Why a finished run has no number."""
    if record["status"] != "done":
        return "no task has ended"
    name = declared_in(record).headline
    silent = why_without("done", record["summary"], name) == "no_episode"
    return "no episode ended" if silent else f"it has no value of {name}"


def _numbers(record: Mapping[str, Any]) -> list[str]:
    """What a run came to: the headline of its summary, and what else is better more or less and has a short title."""
    declared, summary = declared_in(record), record["summary"]
    shown = [each for each in declared.with_direction if each.short or each.name == declared.headline]
    values = {measure: summary.get(measure.name) for measure in shown}
    tasks = some_tasks(summary)
    return [
        f"{measure.short or measure.title} {measure.scale * value:,.1f} {measure.unit}".rstrip()
        for measure, value in values.items()
        if isinstance(value, float)
    ] + ([f"means over {over_tasks([tasks])} tasks, in which an episode ended"] if tasks else [])
