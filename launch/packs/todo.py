"""The work left in a sweep: finished runs are skipped, and unfinished packs of earlier plans are adopted whole."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from launch.packs.begun_otherwise import chosen
from launch.packs.endings import Ending, end_unheld, ending_of
from launch.packs.lease_files import LeaseFiles, ended
from launch.runs.groups import DIAGNOSTICS
from launch.wording import counted
from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.files import names, seen
from plasticity_lab.records.index_files import Digests, Outcome
from plasticity_lab.records.kinds import sort_of
from plasticity_lab.records.own_classes import digests_of_classes, same_code
from plasticity_lab.records.plan import Pack, all_plans, read_plan, sweep_of
from plasticity_lab.records.record import add_asked_as, read_record, set_aside
from plasticity_lab.records.record_facts import FINISHED, MEASURED, CorruptRecord
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import check_targets
from plasticity_lab.run import Run


@dataclass
class Outstanding:
    """The runs of a sweep, sorted.

    index: the index that read their records. finished: ids of runs with a finished record. renamed: finished runs that
    the command requests under a new name. without_weights: finished runs that kept no weights. without_measures: a
    diagnostic or an assay, (group, option) → finished runs without its results. edited: a user's class → finished runs
    that another version of its code trained. left: the runs to train. given_up: run → how often it has failed, for runs
    that failed too often. widest: run → the largest allowed number of runs in its pack, for runs that failed. packs:
    pack → the finished runs that it recorded. recorded: the packs that have recorded all of their runs. corrupt: the
    damage of records, metrics or weights; their runs are in `left`.
    """

    index: RunIndex
    finished: list[str] = field(default_factory=list)
    renamed: list[Run] = field(default_factory=list)
    without_weights: list[str] = field(default_factory=list)
    without_measures: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    edited: dict[str, list[str]] = field(default_factory=dict)
    left: list[Run] = field(default_factory=list)
    given_up: dict[str, int] = field(default_factory=dict)
    widest: dict[str, int] = field(default_factory=dict)
    packs: dict[str, list[str]] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    corrupt: list[CorruptRecord] = field(default_factory=list)


def outstanding(
    store: Store, runs: Sequence[Run], rerun: bool, retries: float, ended: Collection[str] = FINISHED
) -> Outstanding:
    """Sorts the runs of a sweep, and changes nothing.

    A run is trained again if its record, metrics or weights cannot be read, or if it failed at most `retries` times.
    `rerun` trains every run again, except the runs that an earlier, interrupted rerun of the sweep has finished.
    ended: the statuses that count as finished for the command (see `ended_for`).
    Raises ConfigError if a record is of another class under the same name.
    """
    index, digest = RunIndex(store), Digests()
    todo = Outstanding(index)
    again = _to_rerun(store, runs) if rerun else set()
    for run in runs:
        outcome = _outcome(index, run, digest(run.trained_by), todo)
        if outcome is not None and (pack := outcome.pack):
            its_runs = todo.packs.setdefault(pack, [])
            its_runs += [run.id] if outcome.status in MEASURED else []
            todo.recorded |= {pack} if len(its_runs) == outcome.width else set()
        failed = outcome.failures if outcome is not None else 0
        if failed > retries and run.id not in again:
            todo.given_up[run.id] = failed
        elif outcome is None or outcome.status not in ended or run.id in again:
            todo.left.append(run)
            if outcome is not None and failed:
                # A run that failed alone gets a pack alone, since it could stop other runs again.
                todo.widest[run.id] = outcome.width or 1
        else:
            todo.finished.append(run.id)
            if any(digest(name) not in outcome.names for name in run.asked_as):
                todo.renamed.append(run)
            if not outcome.keeps_weights and outcome.status in FINISHED:
                todo.without_weights.append(run.id)
            _compare_with_record(store, run, todo)
    return todo


def _outcome(index: RunIndex, run: Run, classes: str, todo: Outstanding) -> Outcome | None:
    """The outcome in a run's record; None without a valid record.  The damage of an invalid one goes to `todo`."""
    try:
        outcome = index.of(run.id)
        if outcome is not None and run.targets and outcome.classes not in (None, classes):
            _check_classes(index.store, run)
    except CorruptRecord as error:
        with contextlib.suppress(CorruptRecord):
            _check_classes(index.store, run)  # the record may be valid, and only the files next to it damaged
        todo.corrupt.append(error)
        return None
    return outcome


def _compare_with_record(store: Store, run: Run, todo: Outstanding) -> None:
    """Adds a finished run to `edited` if other code trained it, to `without_measures` if it lacks some of them."""
    digests, asked = digests_of_classes(run.trained_by), chosen(run)
    record = read_record(store, run.id) if digests or asked else None
    if record is None:
        return
    trained_by = record["provenance"].get("classes", {})
    for target, digest in digests.items():
        if not same_code(trained_by.get(target, digest), digest):
            todo.edited.setdefault(target, []).append(run.id)
    for group, name in asked:
        known = name in record["diagnostics"] if group == DIAGNOSTICS else f"{name}_loss_gap" in record["summary"]
        if not known:
            todo.without_measures.setdefault((group, name), []).append(run.id)


def _check_classes(store: Store, run: Run) -> None:
    """Raises the errors of `read_record` and `check_targets`."""
    record = read_record(store, run.id)
    if record is not None:
        check_targets(run, record)


def how_to_try_again(given_up: Mapping[str, int]) -> str:
    """A sentence about runs that failed too often.  given_up: run → how often it has failed."""
    most = max(given_up.values())
    return (
        f"{counted(len(given_up), 'run')} failed {counted(most, 'time')} and will not be tried again, unless "
        f"its command is given with launch.retries={most}, or with rerun=true, which trains finished runs again too."
    )


def tidied(store: Store, todo: Outstanding, sweep: str, lease_seconds: float) -> list[str]:
    """Sets damaged files of the runs aside, marks ended packs, and adds new names to the records of finished runs.

    Returns a line for each run with files set aside.  Raises StoreError.
    """
    if todo.left or todo.renamed:
        store.prepare()
    with contextlib.suppress(StoreError):  # a store that cannot be written can still be read
        mark_ended(store, todo, lease_seconds)
        if todo.left:
            store.clear_unfinished(sweep)
    todo.index.save()
    for run in todo.renamed:
        add_asked_as(store, run.id, run.asked_as)
    return [f"{error} The record is {set_aside(store, error.run)} now." for error in todo.corrupt]


def mark_ended(store: Store, todo: Outstanding, lease_seconds: float) -> None:
    """Marks packs as ended if they recorded all their runs, and their workers were killed before marking them.

    Without the mark, their checkpoints would never be removed.  Raises StoreError.
    """
    open_packs = todo.recorded & set(names(store.root / "packs"))
    open_packs -= ended(store, open_packs)
    for pack in open_packs - LeaseFiles(store).held(open_packs, lease_seconds).keys():
        end_unheld(store, pack, Ending("done"), todo.packs[pack], todo.packs[pack])


def adopted(
    store: Store, left: Sequence[Run], kind: str, lease_seconds: float, unreadable: list[StoreError]
) -> tuple[list[Pack], dict[str, Run]]:
    """The unfinished packs of earlier plans with any of the runs, and id → run for all runs of those packs.

    A run belongs to the first pack that planned it until that pack ends. A begun pack (with a checkpoint or a live
    lease) is always adopted. Any other pack is adopted if all of these hold; otherwise its runs are planned again:

    - it is for the same sort of device as `kind`;
    - it shares no run with adopted packs;
    - it has the diagnostics that the command requests now.

    The errors of plans that cannot be read are added to `unreadable`.
    """
    wanted = {run.id: run for run in left}
    packs: dict[str, Pack] = {}
    known: dict[str, Run] = {}
    for plan in all_plans(store, unreadable):
        for pack in plan.packs:
            if pack.id not in packs and not wanted.keys().isdisjoint(pack.runs) and not seen(store.done(pack.id)):
                packs[pack.id] = pack
                known |= {run.id: run for run in plan.runs_of(pack)}
    begun = _begun(store, packs, lease_seconds)
    taken = {run for pack in packs.values() if pack.id in begun for run in pack.runs}
    kept = []
    for pack in packs.values():
        if pack.id not in begun:
            if sort_of(pack.kind) != sort_of(kind) or not taken.isdisjoint(pack.runs):
                continue
            if any(chosen(wanted.get(run, known[run])) != chosen(known[run]) for run in pack.runs):
                continue
            taken |= set(pack.runs)
        kept.append(pack)
    runs = {run: known[run] for pack in kept for run in pack.runs}
    return kept, {id: run.asked_also(wanted[id].asked_as) if id in wanted else run for id, run in runs.items()}


def _to_rerun(store: Store, runs: Sequence[Run]) -> set[str]:
    """The runs that a rerun trains: all runs, or the runs that an interrupted rerun left."""
    left: set[str] = set()
    sweep = sweep_of(runs)
    with contextlib.suppress(DamagedFile):  # `adopted` names a plan that cannot be read
        last = read_plan(store, sweep) if store.plan(sweep).exists() else None
        for pack in last.packs if last is not None and last.settings.rerun else ():
            ending = ending_of(store, pack.id)
            if ending is None or ending.failed:
                left |= set(pack.runs)
    return left or {run.id for run in runs}


def _begun(store: Store, packs: Iterable[str], lease_seconds: float) -> set[str]:
    """The packs that have a checkpoint or a live lease."""
    begun = {pack for pack in packs if any(store.pack_folder(pack).glob("checkpoint.*"))}
    # The states of leases need the file server's clock. So only packs with a lease are checked: a dry run of packs
    # without leases needs no clock.
    leased = {lease.rpartition(".")[0] for lease in names(store.leases_folder)}.intersection(packs) - begun
    return begun | LeaseFiles(store).held(leased, lease_seconds).keys()
