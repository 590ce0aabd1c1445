"""Packs that were begun by other code than runs here: they are named, and a rerun puts new ones in their place."""

from collections.abc import Iterable, Mapping, Sequence

from launch.packs.endings import REPLACED, Ending, write_ending
from launch.packs.lease_files import LeaseFiles
from launch.packs.leases import clear_leases
from launch.packs.progress import reached
from launch.packs.run_claims import clear_claims
from launch.wording import counted, some
from plasticity_lab.records.checkpoint import clear_pack, latest_epoch
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import UNKNOWN, other_code
from plasticity_lab.run import Run


def begun_by_other_code(store: Store, packs: Iterable[Pack], runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """Pack → what differs between the code that began it and this one, in words; only of packs where something does.

    runs: id → run.  Raises StoreError, ConfigError.
    """
    found = {}
    for pack in packs:
        if latest_epoch(store, pack.id) < 0:
            continue  # it begins anew
        parts = reached(store, pack.id).parts or [UNKNOWN]
        if changed := other_code(parts, runs[pack.runs[0]].trained_by):
            found[pack.id] = changed
    return found


def said_of_them(packs: Sequence[Pack], begun: Mapping[str, Sequence[str]]) -> str:
    """A sentence about packs that go on.  begun: as `begun_by_other_code` has it."""
    runs = sum(pack.width for pack in packs)
    changes = list(dict.fromkeys(words for pack in packs for words in begun[pack.id]))
    goes, its = ("goes", "its record lists") if runs == 1 else ("go", "their records list")
    return (
        f"{counted(runs, 'run')} begun by other code {goes} on by this one ({some(changes, 3)}): {its} both parts; "
        "rerun=true trains anew by one code."
    )


def free_to_replace(store: Store, packs: Sequence[Pack], lease_seconds: float) -> list[Pack]:
    """Those of the packs that no worker holds.  Raises StoreError."""
    states = LeaseFiles(store).states([pack.id for pack in packs], lease_seconds) if packs else {}
    return [pack for pack in packs if not states[pack.id].held]


def put_aside(store: Store, packs: Iterable[Pack]) -> None:
    """Ends packs in whose place others were planned, and removes what they kept.  Raises StoreError."""
    leases = LeaseFiles(store)
    for pack in packs:
        write_ending(store, pack.id, Ending(REPLACED, error="", diverged=0), [])
        clear_leases(store, pack.id, last=leases.epochs().get(pack.id, -1))
        clear_pack(store, pack.id)
        clear_claims(store, pack.id, pack.runs)
