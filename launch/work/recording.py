"""What a pack leaves behind when it ends: a record for each of its runs, and the mark that it has ended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from launch.packs.endings import REPLACED, Ending
from launch.packs.leases import Lease
from launch.packs.run_claims import clear_claims
from launch.work.task_weights import TaskFiles
from plasticity_lab.agents.agent import Learner
from plasticity_lab.assembly import agent_of
from plasticity_lab.diagnostics.chosen import names_of
from plasticity_lab.records.checkpoint import clear_pack
from plasticity_lab.records.files import clear_unfinished, create_once, seen
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.plan import Pack, set_apart
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.record import new_record, read_record, set_aside, write_metrics, write_record
from plasticity_lab.records.record_facts import FINISHED, STOPPED, CorruptRecord, check_files, failures, pack_of
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import REFILLED, flags_of_parts
from plasticity_lab.records.weights import write_statistics, write_weights
from plasticity_lab.run import Run


def leave_records(
    store: Store,
    runs: Sequence[Run],
    journal: Journal,
    learner: Learner,
    source: Mapping[str, Any],
    save_weights: str,
    again: bool,
) -> list[str]:
    """The records of runs of a pack at its end, with their metrics.  Returns the ids of those recorded.

    A run that another pack has finished meanwhile keeps its record, which says that this pack trained it as well.
    again: whether finished runs are trained again because that was asked for.  Raises StoreError.
    """
    measures = journal.measures
    weights = learner.weights() if save_weights != "none" else None
    statistics = agent_of(runs[0]).statistics(learner) if save_weights != "none" else {}
    of_tasks = TaskFiles(store, source["pack"]) if save_weights == "tasks" else None
    seconds = source["pack_seconds"] / len(runs)
    recorded = []
    for k, run in enumerate(runs):
        earlier = _record(store, run.id)
        if not again and earlier is not None and _finished_elsewhere(store, earlier, source["pack"]):
            _note_again(store, earlier, source["pack"])
            continue
        clear_unfinished(store.run_folder(run.id))
        table = journal.table(k)
        files = {store.metrics(run.id).name: write_metrics(store, run.id, table)}
        diverged_at, stopped_at = int(journal.diverged[k]), int(journal.stopped[k])
        # What a run was when it was stopped is gone: it stayed in its pack.
        if weights is not None and not stopped_at:
            own = {name: value[k] for name, value in weights.items()}
            files[store.weights(run.id).name] = write_weights(store, run.id, own)
            if statistics:
                own = {name: value[k] for name, value in statistics.items()}
                files[store.statistics(run.id).name] = write_statistics(store, run.id, own)
        files |= {} if of_tasks is None or stopped_at else of_tasks.leave(k, run.id)
        flags = dict(measures.flags(table, learner.facts))
        flags |= dict.fromkeys(flags_of_parts(source.get("parts", ())), True)
        flags |= {REFILLED: True} if source.get("memory_refills") else {}
        record = new_record(
            _named(run, earlier),
            "diverged" if diverged_at else STOPPED if stopped_at else "done",
            source,
            summary={**measures.summarise(table), "parameters": learner.size, "seconds": seconds},
            collapsed=flags.pop("collapsed", False),
            flags=flags,
            measures=measures.as_json(),
            diagnostics=names_of(run),
            diverged_at_step=diverged_at or None,
            stopped_at_step=stopped_at or None,
            files=files,
        )
        write_record(store, record)
        recorded.append(run.id)
    return recorded


def recorded_elsewhere(store: Store, pack: Pack) -> set[str]:
    """Those of a pack's runs that another pack has finished.  Raises StoreError."""
    records = {run: _record(store, run) for run in pack.runs}
    return {
        run for run, record in records.items() if record is not None and _finished_elsewhere(store, record, pack.id)
    }


def leave_failures(store: Store, pack: Pack, runs: Sequence[Run], lease: Lease, error: str, whole: str) -> None:
    """Records a pack that cannot be trained: each of its runs as failed, except those that an earlier attempt finished.

    error: the reason in a line; whole: all that is known of it.  Raises LostLease, StoreError.
    """
    lease.beat()
    facts = provenance() | pack_facts(pack)
    for run in runs:
        earlier = _record(store, run.id)
        if earlier is not None and pack_of(earlier) == pack.id and earlier["status"] == "failed":
            continue  # recorded when this was begun, before the store stopped working
        if earlier is None or earlier["status"] not in FINISHED:
            count = {"failures": 1 + failures(earlier)}
            write_record(store, new_record(_named(run, earlier), "failed", facts | count, error=whole))
    end_pack(store, pack, lease, Ending("failed", error, diverged=0))


def divide(store: Store, pack: Pack, lease: Lease, error: str, apart: Collection[str] = ()) -> None:
    """Puts two packs in the place of one.  error: why, in a line.  Raises LostLease, StoreError.

    apart: the runs of one of the two; without any they are its halves.
    """
    lease.beat(surely=True)
    # First the parts: whoever sees that the pack has ended must find them. What an earlier holder has left stays.
    if not seen(store.divided(pack.id)) and not seen(store.set_apart(pack.id)):
        if apart:
            set_apart(store, pack, apart)
        else:
            create_once(store.divided(pack.id), b"")
    end_pack(store, pack, lease, Ending("divided", error, diverged=0))


def put_in_place(store: Store, pack: Pack, lease: Lease, error: str) -> None:
    """Puts a pack of the same runs in the place of one, which begins anew.  Raises LostLease, StoreError."""
    lease.beat(surely=True)
    set_apart(store, pack, [])
    end_pack(store, pack, lease, Ending(REPLACED, error, diverged=0), runs=[])


def end_pack(store: Store, pack: Pack, lease: Lease, ending: Ending, runs: Sequence[str] | None = None) -> None:
    """Marks a pack as ended, with the runs that ended in it; None: all of them.  Raises LostLease, StoreError."""
    ended = list(pack.runs if runs is None else runs)
    lease.finish({**ending.as_json(), "runs": [] if ending.status == "divided" else ended})
    clear_pack(store, pack.id)
    clear_claims(store, pack.id, pack.runs)


def pack_facts(pack: Pack) -> dict[str, Any]:
    """What a record's provenance says about the pack."""
    return {"pack": pack.id, "attempt": pack.attempt, "width": pack.width, "share": 1 / pack.width, "mode": pack.mode}


def _record(store: Store, run: str) -> dict[str, Any] | None:
    """The record that an earlier attempt left; one that cannot be read is set aside."""
    try:
        return read_record(store, run)
    except CorruptRecord:
        set_aside(store, run)
        return None


def _finished_elsewhere(store: Store, record: Mapping[str, Any], pack: str) -> bool:
    """Whether a record is that of a run which another pack has finished, and the files beside it are whole."""
    if record["status"] not in FINISHED or pack_of(record) == pack:
        return False
    try:
        check_files(store, record)
    except CorruptRecord:
        return False
    return True


def _note_again(store: Store, record: dict[str, Any], pack: str) -> None:
    """Notes in a record that a pack has trained its run as well."""
    known = record["provenance"].get("also_trained_in", [])
    if pack not in known:
        write_record(store, record | {"provenance": record["provenance"] | {"also_trained_in": [*known, pack]}})


def _named(run: Run, earlier: Mapping[str, Any] | None) -> Run:
    """The run with the names of its earlier record too, those first."""
    return run if earlier is None else replace(run, asked_as=earlier["asked_as"]).asked_also(run.asked_as)
