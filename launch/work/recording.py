"""The end of a pack: a record for each of its runs, and the mark that the pack has ended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
from torch import Tensor

from launch.packs.endings import REPLACED, Ending
from launch.packs.leases import Lease
from launch.packs.run_claims import clear_claims
from plasticity_lab.agents.agent import Learner
from plasticity_lab.assembly import agent_of
from plasticity_lab.diagnostics.chosen import names_of
from plasticity_lab.records.checkpoint import clear_pack
from plasticity_lab.records.files import clear_unfinished, create_once, names, seen
from plasticity_lab.records.film import drop_film, keep_film
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.plan import Pack, set_apart
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.record import (
    FINISHED,
    STOPPED,
    CorruptRecord,
    check_files,
    failures,
    new_record,
    pack_of,
    read_record,
    set_aside,
    write_metrics,
    write_record,
)
from plasticity_lab.records.record_facts import TRAINED_BEFORE, trainings_of
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import REFILLED, flags_of_parts
from plasticity_lab.records.weights import read_pack_weights, write_statistics, write_task_weights, write_weights
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Trained:
    """A pack at its end.  source: the provenance of its records."""

    runs: Sequence[Run]
    journal: Journal
    learner: Learner
    source: Mapping[str, Any]


def leave_records(store: Store, lease: Lease, trained: Trained, settings: Settings) -> list[str]:
    """Writes records and metrics for the runs of a pack at its end.  Returns the ids of the recorded runs.

    If another pack has finished a run in the meantime, that run keeps its record, which then names this pack too. With
    `rerun=true` its record is replaced. Raises LostLease, StoreError.
    """
    runs, journal, learner = trained.runs, trained.journal, trained.learner
    lease.beat(surely=True)
    keeps = settings.save_weights != "none"
    weights, statistics = (learner.weights(), agent_of(runs[0]).statistics(learner)) if keeps else ({}, {})
    tasks = _kept_tasks(store, lease.pack) if settings.save_weights == "tasks" else []
    recorded = []
    for k, run in enumerate(runs):
        earlier = _record(store, run.id)
        if not settings.rerun and earlier is not None and _finished_elsewhere(store, earlier, lease.pack):
            _note_again(store, earlier, lease.pack)
            continue
        clear_unfinished(store.run_folder(run.id))
        drop_film(store, run.id)
        table = journal.table(k)
        files = {store.metrics(run.id).name: write_metrics(store, run.id, table)}
        if not journal.stopped[k]:  # the weights at the step of an early stop are gone: its pack trained on
            files |= _weight_files(store, run.id, k, weights, statistics)
            files |= _task_files(store, lease.pack, run.id, k, tasks)
            files |= keep_film(store, lease.pack, k, run.id) if settings.save_video == "last" else {}
        write_record(store, _new_record(_named(run, earlier), k, trained, table, files, _before(earlier, lease.pack)))
        recorded.append(run.id)
    return recorded


def _new_record(
    run: Run, k: int, trained: Trained, table: pa.Table, files: Mapping[str, Any], before: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The record of the k-th run of a pack.  before: its earlier trainings."""
    journal, learner, source, measures = trained.journal, trained.learner, trained.source, trained.journal.measures
    flags = dict(measures.flags(table, learner.facts))
    flags |= dict.fromkeys(flags_of_parts(source.get("parts", ())), True)
    flags |= {REFILLED: True} if source.get("memory_refills") else {}
    diverged_at, stopped_at = int(journal.diverged[k]), int(journal.stopped[k])
    seconds = source["pack_seconds"] / journal.runs
    return new_record(
        run,
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
        trained_before=before,
    )


def _before(earlier: Mapping[str, Any] | None, pack: str) -> Sequence[Mapping[str, Any]]:
    """The trainings that a pack's record replaces; an earlier attempt of the pack to write its records is none."""
    if earlier is not None and pack_of(earlier) == pack:
        return earlier.get(TRAINED_BEFORE, ())
    return trainings_of(earlier)


def _weight_files(
    store: Store, run: str, k: int, weights: Mapping[str, Tensor], statistics: Mapping[str, Tensor]
) -> dict[str, Any]:
    """Writes the last weights of the k-th run, and the statistics that scale its observations; file → its seal."""
    files: dict[str, Any] = {}
    if weights:
        files[store.weights(run).name] = write_weights(store, run, {name: value[k] for name, value in weights.items()})
    if statistics:
        of_run = {name: value[k] for name, value in statistics.items()}
        files[store.statistics(run).name] = write_statistics(store, run, of_run)
    return files


def _kept_tasks(store: Store, pack: str) -> list[int]:
    """The tasks with stored weights: a pack has kept its weights at the ends of these tasks."""
    stem = store.pack_weights(pack, 0).stem
    parts = [name.rpartition(".") for name in names(store.pack_folder(pack))]
    return sorted(int(task) for name, _, task in parts if name == stem and task.isdecimal())


def _task_files(store: Store, pack: str, run: str, k: int, tasks: Sequence[int]) -> dict[str, Any]:
    """Writes the weights of the k-th run at the ends of tasks; file → its seal.  Raises StoreError."""
    files: dict[str, Any] = {}
    for task in tasks:  # read again for each run: all tasks of a pack together may not fit into memory
        kept = read_pack_weights(store, pack, task).of(k)
        files[store.task_weights(run, task).name] = write_task_weights(store, run, task, kept)
    return files


def recorded_elsewhere(store: Store, pack: Pack) -> set[str]:
    """The runs of a pack that another pack has finished.  Raises StoreError."""
    records = {run: _record(store, run) for run in pack.runs}
    return {run for run, record in records.items() if record and _finished_elsewhere(store, record, pack.id)}


def leave_failures(store: Store, pack: Pack, runs: Sequence[Run], lease: Lease, error: str, whole: str) -> None:
    """Records the runs of a pack that cannot be trained as failed, except those that an earlier attempt finished.

    error: the reason in a line; whole: with the traceback.  Raises LostLease, StoreError.
    """
    lease.beat()
    facts = provenance() | pack_facts(pack)
    for run in runs:
        earlier = _record(store, run.id)
        if earlier is not None and pack_of(earlier) == pack.id and earlier["status"] == "failed":
            continue  # recorded by an attempt to record this failure, before the store stopped working
        if earlier is None or earlier["status"] not in FINISHED:
            count = {"failures": 1 + failures(earlier)}
            write_record(store, new_record(_named(run, earlier), "failed", facts | count, error=whole))
    end_pack(store, pack, lease, Ending("failed", error, diverged=0))


def divide(store: Store, pack: Pack, lease: Lease, error: str, apart: Collection[str] = ()) -> None:
    """Replaces a pack by two packs.  error: why, in a line.  Raises LostLease, StoreError.

    apart: the runs of one of the two; without any they are its halves.
    """
    lease.beat(surely=True)
    # First the parts: a worker that sees the ended pack must find them. Parts of an earlier holder are kept.
    if not seen(store.divided(pack.id)) and not seen(store.set_apart(pack.id)):
        if apart:
            set_apart(store, pack, apart)
        else:
            create_once(store.divided(pack.id), b"")
    end_pack(store, pack, lease, Ending("divided", error, diverged=0), runs=[])


def put_in_place(store: Store, pack: Pack, lease: Lease, error: str) -> None:
    """Replaces a pack by a new one of the same runs, which starts from the beginning.  Raises LostLease, StoreError."""
    lease.beat(surely=True)
    set_apart(store, pack, [])
    end_pack(store, pack, lease, Ending(REPLACED, error, diverged=0), runs=[])


def end_pack(store: Store, pack: Pack, lease: Lease, ending: Ending, runs: Sequence[str] | None = None) -> None:
    """Marks a pack as ended, with the runs that ended in it (None: all).  Raises LostLease, StoreError."""
    lease.finish({**asdict(ending), "runs": list(pack.runs if runs is None else runs)})
    clear_pack(store, pack.id)
    clear_claims(store, pack.id, pack.runs)


def pack_facts(pack: Pack) -> dict[str, Any]:
    """The pack in the provenance of a record."""
    return {"pack": pack.id, "attempt": pack.attempt, "width": pack.width, "share": 1 / pack.width, "mode": pack.mode}


def _record(store: Store, run: str) -> dict[str, Any] | None:
    """The record of an earlier attempt; an unreadable one is set aside."""
    try:
        return read_record(store, run)
    except CorruptRecord:
        set_aside(store, run)
        return None


def _finished_elsewhere(store: Store, record: Mapping[str, Any], pack: str) -> bool:
    """Whether another pack has finished the run of a record, and the files of the record are whole."""
    if record["status"] not in FINISHED or pack_of(record) == pack:
        return False
    try:
        check_files(store, record)
    except CorruptRecord:
        return False
    return True


def _note_again(store: Store, record: dict[str, Any], pack: str) -> None:
    """Adds a pack to the record of a run that it has trained too."""
    known = record["provenance"].get("also_trained_in", [])
    if pack not in known:
        write_record(store, record | {"provenance": record["provenance"] | {"also_trained_in": [*known, pack]}})


def _named(run: Run, earlier: Mapping[str, Any] | None) -> Run:
    """The run, with the names in its earlier record first."""
    return run if earlier is None else replace(run, asked_as=earlier["asked_as"]).asked_also(run.asked_as)
