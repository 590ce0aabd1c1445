"""What of a sweep is left to do: finished runs are skipped, unfinished packs of earlier plans adopted whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.leases import Leases
from launch.plan_file import all_plans
from launch.planner import Pack
from plasticity_lab.records.record import CorruptRecord, add_asked_as, read_record, set_aside
from plasticity_lab.records.store import Store

Run = Mapping[str, Any]
FINISHED = ("done", "diverged")


@dataclass(frozen=True)
class Outstanding:
    """finished: ids with a record that counts. set_aside: unreadable records, by their new names. left: other runs."""

    finished: Sequence[str]
    set_aside: Sequence[str]
    left: Sequence[Run]


def outstanding(store: Store, runs: Sequence[Run], rerun: bool, dry: bool) -> Outstanding:
    """Sorts a sweep's runs.  A finished run learns under which further names it was asked for.

    A record that cannot be read is set aside and its run trained again. dry: look, but change nothing.
    """
    finished, aside, left = [], [], []
    for run in runs:
        try:
            record = read_record(store, run["id"])
        except CorruptRecord as error:
            aside.append(str(store.record(run["id"])) if dry else f"{set_aside(store, run['id'])} ({error})")
            record = None
        if record is None or record["status"] not in FINISHED or rerun:
            left.append(run)
            continue
        finished.append(run["id"])
        if not dry:
            add_asked_as(store, run["id"], run["asked_as"])
    return Outstanding(finished, aside, left)


def adopted(store: Store, left: Sequence[Run], kind: str, leases: Leases) -> tuple[list[Pack], dict[str, Run]]:
    """The unfinished packs of earlier plans in which the runs stand, and all runs of those packs.

    A run belongs to the pack that first planned it until that pack ends. A pack of another device kind is adopted only
    if it has been begun: it has a checkpoint or a live lease; otherwise its runs are planned anew.
    """
    wanted = {run["id"] for run in left}
    packs: dict[str, Pack] = {}
    runs: dict[str, Run] = {}
    for plan in all_plans(store):
        for pack in plan.packs:
            if pack.id in packs or wanted.isdisjoint(pack.runs) or store.done(pack.id).exists():
                continue
            if pack.kind != kind and not _begun(store, pack, leases):
                continue
            packs[pack.id] = pack
            runs |= {run["id"]: run for run in plan.runs_of(pack)}
    return list(packs.values()), runs


def _begun(store: Store, pack: Pack, leases: Leases) -> bool:
    return any(store.pack_folder(pack.id).glob("checkpoint.*")) or leases.state([pack.id])[pack.id].held
