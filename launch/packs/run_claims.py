"""The claims of packs on runs, for runs in packs of several plans.

Two commands that plan at the same moment do not see each other's plans. So a pack claims its runs before it begins. A
claim is a file `<run>.<number>` that names the pack and its sweep. It is made with a hard link, which succeeds for one
pack only. The claim counts while a worker holds the pack, or the pack has a checkpoint. Afterwards another pack may
link the next number, and the highest number counts. When a pack ends, it first writes the records of its runs, then
removes its claims. So a pack that has claimed a run must check whether the run has a record.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import count, takewhile
from pathlib import Path

from launch.packs.leases import Leases
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.damage import read_undamaged
from plasticity_lab.records.files import beside, link_once, seen, stands
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store


@dataclass(frozen=True)
class Claim:
    """pack: it trains the run. sweep: the plan of this sweep has the pack."""

    pack: str
    sweep: str


def claim_runs(store: Store, pack: Pack, sweep: str, leases: Leases) -> dict[str, Claim]:
    """Claims the runs of a pack that has not been begun.  Returns run → claim, for runs that other packs train.

    leases: for checking whether other packs are held. Successful claims stay.  Raises StoreError.
    """
    content = json.dumps(asdict(Claim(pack.id, sweep))).encode()
    with beside(store.claims_folder / "claim", content) as mine:
        # All packs claim in the same order. So if two packs share several runs, one of them mostly gets all.
        claims = {run: _claim(store, run, pack.id, mine, leases) for run in sorted(pack.runs)}
    return {run: claim for run, claim in claims.items() if claim is not None}


def _claim(store: Store, run: str, pack: str, mine: Path, leases: Leases) -> Claim | None:
    """Claims a run for a pack by linking the complete file `mine`.

    Returns the claim of another pack that trains the run; None if this pack has claimed it.
    """
    number = 0
    while not link_once(mine, store.claim(run, number)):
        claim = read_undamaged(Claim, store.claim(run, number))
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
    """Removes the claims of a pack that has ended or gives its runs up; a file that cannot be removed stays.

    If several packs have claimed a run, only the highest claim is removed: later claims are found by counting up.
    """
    for run in runs:
        with contextlib.suppress(OSError, StoreError):
            highest = sum(1 for _ in takewhile(lambda number, run=run: seen(store.claim(run, number)), count())) - 1
            claim = read_undamaged(Claim, store.claim(run, highest)) if highest >= 0 else None
            if claim is not None and claim.pack == pack:
                store.claim(run, highest).unlink()
