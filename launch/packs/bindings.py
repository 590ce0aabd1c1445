"""On which kind of device a pack is trained: the worker that first trains it binds it to its own.

A small file says it, written under the worker's lease before the first step. It counts once the pack has a checkpoint:
a worker that vanished before has left nothing that another kind could not begin anew.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from launch.packs.lease_files import LeaseFiles
from plasticity_lab.records.checkpoint import latest_epoch, load_checkpoint
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping, write_mapping
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store

_FIELDS = {"kind": str, "mode": str, "width": int}
_ADVICE = "its checkpoint says the same"


@dataclass(frozen=True)
class Binding:
    """kind: of device; as earlier versions wrote it, it does not say what decides bits. mode, width: of training."""

    kind: str
    mode: str
    width: int


def write_binding(store: Store, pack: str, binding: Binding) -> None:
    """Says on which kind a pack is trained; only the holder of its lease may.  Raises StoreError."""
    write_mapping(store.binding(pack), asdict(binding))


def written_binding(store: Store, pack: str) -> Binding | None:
    """What the file of a pack says, begun or not; None where there is none that can be read.  Raises StoreError."""
    path = store.binding(pack)
    try:
        value = read_mapping(path, _ADVICE)
        if value is not None and (fault := fault_of_fields(value, _FIELDS)):
            raise DamagedFile(path, fault, _ADVICE)
    except DamagedFile:
        return None
    return None if value is None else Binding(value["kind"], value["mode"], value["width"])


def binding_of(store: Store, pack: Pack) -> Binding | None:
    """To what a begun pack is bound; None where it has no checkpoint: then any worker of its sort may bind it.

    Packs of earlier versions have no such file: their checkpoint says it.  Raises StoreError.
    """
    if latest_epoch(store, pack.id) < 0:
        return None
    if (written := written_binding(store, pack.id)) is not None:
        return written
    kept: Mapping[str, Any] | None = load_checkpoint(store, pack.id)
    return None if kept is None else Binding(kept.get("kind", pack.kind), kept.get("mode", pack.mode), pack.width)


def steps_kept(store: Store, pack: str) -> int:
    """How far each run of a pack is at its checkpoint, which the progress need not say; 0 without one."""
    kept = load_checkpoint(store, pack) or {}
    return int(kept.get("journal", {}).get("steps", 0))


def kinds_at_work(leases: LeaseFiles, packs: list[Pack], lease_seconds: float) -> tuple[set[str], set[str]]:
    """Those of the packs that a worker holds, and the kinds of device of these workers.  Raises StoreError."""
    states = leases.states([pack.id for pack in packs], lease_seconds) if packs else {}
    held = {pack for pack, state in states.items() if state.held}
    bound = [written_binding(leases.store, pack) for pack in held]
    return held, {each.kind for each in bound if each is not None}
