"""What of a sweep is left to do: finished runs are skipped, unfinished packs of earlier plans adopted whole."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from launch.packs.begun_otherwise import chosen, looked_at_alike
from launch.packs.endings import Ending, ending_of, write_ending
from launch.packs.lease_files import LeaseFiles, ended
from launch.packs.leases import clear_leases
from launch.packs.run_claims import clear_claims
from launch.wording import counted
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import clear_pack
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.files import names, seen
from plasticity_lab.records.index_files import Digests, Outcome
from plasticity_lab.records.kinds import sort_of
from plasticity_lab.records.own_classes import digests_of_classes, same_code
from plasticity_lab.records.plan import Pack, Plan, all_plans, read_plan, sweep_of
from plasticity_lab.records.record import add_asked_as, read_record, set_aside
from plasticity_lab.records.record_facts import FINISHED, MEASURED, CorruptRecord
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import check_targets
from plasticity_lab.run import Run


@dataclass
class Outstanding:
    """A sweep's runs, sorted.

    finished: ids with a record that counts. renamed: those of them that are asked for under a further name.
    without_weights: those of them that kept none. without_diagnostics: diagnostic → those of them that were trained
    without it. edited: class of somebody's own → the finished runs that another
    version of its code trained. left: the runs to train. given_up: run → how often it has failed, of
    those that failed too often. widest: the most runs that may share a pack with one that failed. packs: pack → the
    finished runs that it recorded. recorded: the packs that have recorded all of their runs. corrupt: what is wrong
    with records, metrics or weights of runs that are left for that reason. index: by which all this was found.
    """

    finished: list[str] = field(default_factory=list)
    renamed: list[Run] = field(default_factory=list)
    without_weights: list[str] = field(default_factory=list)
    without_diagnostics: dict[str, list[str]] = field(default_factory=dict)
    edited: dict[str, list[str]] = field(default_factory=dict)
    left: list[Run] = field(default_factory=list)
    given_up: dict[str, int] = field(default_factory=dict)
    widest: dict[str, int] = field(default_factory=dict)
    packs: dict[str, list[str]] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    corrupt: list[CorruptRecord] = field(default_factory=list)
    index: RunIndex | None = None


def outstanding(
    store: Store, runs: Sequence[Run], rerun: bool, retries: float, ended: Collection[str] = FINISHED
) -> Outstanding:
    """Sorts a sweep's runs, and changes nothing.

    A run whose record, metrics or weights cannot be read is trained again, and so is one that failed, at most `retries`
    times; with `rerun` any, unless it was finished in an earlier rerun of the sweep that was interrupted. ended: the
    statuses of runs that are finished for the command (see `ended_for`).
    Raises ConfigError where a record is of another class under the same name.
    """
    index, digest = RunIndex(store), Digests()
    found = Outstanding(index=index)
    again = _to_rerun(store, runs) if rerun else set()
    for run in runs:
        outcome = _outcome(index, run, digest(run.trained_by), found)
        if outcome is not None and (pack := outcome.pack):
            its_runs = found.packs.setdefault(pack, [])
            its_runs += [run.id] if outcome.status in MEASURED else []
            found.recorded |= {pack} if len(its_runs) == outcome.width else set()
        failed = outcome.failures if outcome is not None else 0
        if failed > retries and run.id not in again:
            found.given_up[run.id] = failed
        elif outcome is None or outcome.status not in ended or run.id in again:
            found.left.append(run)
            if outcome is not None and failed:
                # One that failed alone stays alone: among others it would hold them up again.
                found.widest[run.id] = outcome.width or 1
        else:
            found.finished.append(run.id)
            if any(digest(name) not in outcome.names for name in run.asked_as):
                found.renamed.append(run)
            if not outcome.keeps_weights and outcome.status in FINISHED:
                found.without_weights.append(run.id)
            for target in _edited(store, run):
                found.edited.setdefault(target, []).append(run.id)
            for name in _without(store, run):
                found.without_diagnostics.setdefault(name, []).append(run.id)
    return found


def _outcome(index: RunIndex, run: Run, classes: str, found: Outstanding) -> Outcome | None:
    """How a run ended, if its record counts; why it does not is added to what is found."""
    try:
        outcome = index.of(run.id)
        if outcome is not None and run.targets and outcome.classes not in (None, classes):
            _check_classes(index.store, run)
    except CorruptRecord as error:
        with contextlib.suppress(CorruptRecord):
            _check_classes(index.store, run)  # also where only the files beside the record are damaged
        found.corrupt.append(error)
        return None
    return outcome


def _edited(store: Store, run: Run) -> list[str]:
    """The classes of somebody's own that have been edited since they trained a finished run."""
    now = digests_of_classes(run.trained_by)
    record = read_record(store, run.id) if now else None
    known = {} if record is None else record["provenance"].get("classes", {})
    return [target for target, digest in now.items() if not same_code(known.get(target, digest), digest)]


def _without(store: Store, run: Run) -> list[str]:
    """The diagnostics that are asked for and that a finished run's record lacks."""
    asked = chosen(run)
    record = read_record(store, run.id) if asked else None
    return [name for name in asked if record is not None and name not in record["diagnostics"]]


def _check_classes(store: Store, run: Run) -> None:
    """Raises as `read_record` and `check_targets`."""
    record = read_record(store, run.id)
    if record is not None:
        check_targets(run, record)


def how_to_try_again(given_up: Mapping[str, int]) -> str:
    """What is said of runs that failed too often to be tried again.  given_up: run → how often it has failed."""
    most = max(given_up.values())
    return (
        f"{counted(len(given_up), 'run')} failed {counted(most, 'time')} and will not be tried again, unless "
        f"its command is given with launch.retries={most}, or with rerun=true, which trains finished runs again too."
    )


def tidied(store: Store, found: Outstanding, sweep: str, lease_seconds: float) -> list[str]:
    """Sets damaged files of the runs aside, marks packs that have ended, and gives finished runs their new names.

    Returns a line for each thing that was damaged.  Raises StoreError.
    """
    if found.left or found.renamed:
        store.prepare()
    with contextlib.suppress(StoreError):  # a store that cannot be written may be read all the same
        mark_ended(store, found, lease_seconds)
        if found.left:
            store.clear_unfinished(sweep)
    if found.index is not None:
        found.index.save()
    return _settle(store, found)


def _settle(store: Store, found: Outstanding) -> list[str]:
    """Sets aside what corrupt runs have left, and gives finished runs their new names.

    Returns a line for each run set aside.  Raises StoreError.
    """
    for run in found.renamed:
        add_asked_as(store, run.id, run.asked_as)
    return [f"{error} The record is {set_aside(store, error.run)} now." for error in found.corrupt]


def mark_ended(store: Store, found: Outstanding, lease_seconds: float) -> None:
    """Marks packs as ended that have recorded all their runs, and whose workers were killed before they could do it.

    Without the mark their checkpoints would stay for ever.  Raises StoreError.
    """
    open_packs = found.recorded & set(names(store.root / "packs"))
    open_packs -= ended(store, open_packs)
    leases = LeaseFiles(store)
    states = leases.states(open_packs, lease_seconds) if open_packs else {}
    for pack in [pack for pack, state in states.items() if not state.held]:
        write_ending(store, pack, Ending("done", error="", diverged=0), found.packs[pack])
        clear_leases(store, pack, last=leases.epochs().get(pack, -1))
        clear_pack(store, pack)
        clear_claims(store, pack, found.packs[pack])


def adopted(
    store: Store, left: Sequence[Run], kind: str, lease_seconds: float, unreadable: list[StoreError]
) -> tuple[list[Pack], dict[str, Run]]:
    """The unfinished packs of earlier plans in which the runs stand, and all runs of those packs.

    A run belongs to the pack that first planned it until that pack ends. A pack that has been begun (it has a
    checkpoint or a live lease) is always adopted; one that has not, if it is of this sort of device, shares no run with
    those, and is to be looked at by the same diagnostics: otherwise its runs are planned anew. Why a plan cannot be
    read is added to unreadable.
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
            if not all(looked_at_alike(wanted.get(run, known[run]), known[run]) for run in pack.runs):
                continue
            taken |= set(pack.runs)
        kept.append(pack)
    return kept, {run: _named(known[run], wanted.get(run)) for pack in kept for run in pack.runs}


def _to_rerun(store: Store, runs: Sequence[Run]) -> set[str]:
    """The finished runs that a rerun trains: all, or where the last rerun was interrupted, those it had not trained."""
    left: set[str] = set()
    last = _last_plan(store, sweep_of(runs))
    if last is not None and last.settings.rerun:
        for pack in last.packs:
            ending = ending_of(store, pack.id)
            if ending is None or ending.failed:
                left |= set(pack.runs)
    return left or {run.id for run in runs}


def _last_plan(store: Store, sweep: str) -> Plan | None:
    """The plan that the store has of a sweep; None if there is none that can be read."""
    if not store.plan(sweep).exists():
        return None
    try:
        return read_plan(store, sweep)
    except DamagedFile:
        return None  # `adopted` names it


def _begun(store: Store, packs: Iterable[str], lease_seconds: float) -> set[str]:
    """Those of the packs that have a checkpoint or a live lease."""
    begun = {pack for pack in packs if any(store.pack_folder(pack).glob("checkpoint.*"))}
    # Asking how leases stand takes a look at the server's clock, which no dry run should need.
    leased = {lease.rpartition(".")[0] for lease in names(store.leases_folder)}.intersection(packs) - begun
    states = LeaseFiles(store).states(leased, lease_seconds) if leased else {}
    return begun | {pack for pack, state in states.items() if state.held}


def _named(known: Run, asked: Run | None) -> Run:
    """The run as the earlier plan has it, with the names under which it is asked for now."""
    return known if asked is None else known.asked_also(asked.asked_as)
