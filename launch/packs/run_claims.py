"""Which pack trains a run, where packs of several plans hold it: two commands that plan at the same moment do not see
each other's plans.

A claim is a file `<run>.<number>`, linked into place, which succeeds for one pack only; it names the pack and its
sweep. A pack claims its runs before it is begun. The claim counts while the pack is held by a worker or has a
checkpoint; after that another pack may link the next number, and the highest counts. When a pack ends its claims are
removed, after the records of its runs are written: whoever claims a run looks afterwards whether it has been recorded.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path

from launch.packs.leases import Leases
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.damage import DamagedFile, read_mapping
from plasticity_lab.records.files import beside, link_once, seen, stands
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store


@dataclass(frozen=True)
class Claim:
    """Who trains a run: a pack, and the sweep in whose plan it is."""

    pack: str
    sweep: str


def claim_runs(store: Store, pack: Pack, sweep: str, leases: Leases) -> dict[str, Claim]:
    """Claims the runs of a pack that has not been begun.  Returns run → who trains it, of those trained elsewhere.

    leases: they show whether other packs are held. All that could be claimed stays claimed.
    Raises StoreError.
    """
    content = json.dumps({"pack": pack.id, "sweep": sweep}).encode()
    with beside(store.claims_folder / "claim", content) as mine:
        # In one order, whoever claims: then of two packs that share several runs one mostly has all of them.
        claims = {run: _claim(store, run, pack.id, mine, leases) for run in sorted(pack.runs)}
    return {run: claim for run, claim in claims.items() if claim is not None}


def _claim(store: Store, run: str, pack: str, mine: Path, leases: Leases) -> Claim | None:
    """Claims a run for a pack with a file that says so; who trains it, where that is another pack."""
    number = 0
    while not link_once(mine, store.claim(run, number)):
        claim = _read(store, run, number)
        if claim is not None and claim.pack == pack:
            if not stands(store.claim(run, number + 1)):
                return None
        elif claim is not None and counts(store, claim, leases):
            return claim
        number += 1
    return None


def counts(store: Store, claim: Claim, leases: Leases) -> bool:
    """Whether a claim must be respected: its pack has not ended, and is held or was begun.  Raises StoreError."""
    if seen(store.done(claim.pack)):
        return False
    return leases.holds(claim.pack) or latest_epoch(store, claim.pack) >= 0


def clear_claims(store: Store, pack: str, runs: Iterable[str]) -> None:
    """Removes the claims of a pack that has ended or gives its runs up; one that resists is left.

    Of a run that several packs have claimed the highest alone goes: without those below it a next one is not found.
    """
    for run in runs:
        with contextlib.suppress(OSError, StoreError):
            highest = sum(1 for _ in takewhile(lambda number, run=run: seen(store.claim(run, number)), count())) - 1
            claim = _read(store, run, highest) if highest >= 0 else None
            if claim is not None and claim.pack == pack:
                store.claim(run, highest).unlink()


def _read(store: Store, run: str, number: int) -> Claim | None:
    """What a claim says; None if it is gone, or cannot be read.  Raises StoreError."""
    try:
        value = read_mapping(store.claim(run, number), "")
    except DamagedFile:
        return None
    if value is None or not isinstance(value.get("pack"), str) or not isinstance(value.get("sweep"), str):
        return None
    return Claim(value["pack"], value["sweep"])
