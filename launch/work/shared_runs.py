"""Runs that another pack trains: two commands given at the same moment plan them twice, and a worker notices it here.

Before a pack is begun its runs are claimed. Where some of them are trained elsewhere they are set apart, in a pack that
waits for the packs that train them, and ends with those; a pack of another plan that was begun and that nobody holds
any more is trained by whoever waits for it.
"""

import logging
from collections.abc import Collection, Sequence

from launch.packs.endings import Ending
from launch.packs.leases import Lease, Leases
from launch.packs.run_claims import Claim, claim_runs, clear_claims, counts
from launch.work.binding import Binder
from launch.work.recording import divide, end_pack, recorded_elsewhere
from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.damage import DamagedFile, OldFormat
from plasticity_lab.records.plan import OtherFormat, Pack, Plan, read_plan
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.work.worker")
_TOLD = "some of its runs are trained in other packs, or have been"


class Elsewhere:
    """What one worker knows of packs of other plans that train runs of its own packs."""

    def __init__(self, store: Store, leases: Leases, binder: Binder) -> None:
        self.store, self.leases, self.binder = store, leases, binder
        self._waits: dict[str, set[Claim]] = {}

    def is_free(self, plan: Plan, pack: Pack, lease: Lease) -> bool:
        """Whether a pack that the worker holds may be trained: it was begun before, or all its runs are claimed for it.

        Where it is not, the lease is given back, and the pack waits, or has ended or been divided.
        Raises LostLease, StoreError.
        """
        if latest_epoch(self.store, pack.id) >= 0:
            return True
        taken = claim_runs(self.store, pack, plan.sweep, self.leases)
        # After the claims: whoever gave one up has written its record before.
        over = set() if plan.settings.rerun else recorded_elsewhere(self.store, pack)
        elsewhere = taken.keys() | over
        if not elsewhere:
            return True
        clear_claims(self.store, pack.id, pack.runs)
        if len(elsewhere) < pack.width:
            log.info("A pack of %s is divided: %s", pack.family, _TOLD)
            divide(self.store, pack, lease, _TOLD, apart=elsewhere)
        elif taken.keys() <= over:
            log.info("The runs of pack %s have been trained in other packs.", pack.id)
            end_pack(self.store, pack, lease, Ending("done", error="", diverged=0), runs=[])
        else:
            self._waits[pack.id] = {claim for run, claim in taken.items() if run not in over}
            log.info("Pack %s waits for %s, which train its runs.", pack.id, _names(self._waits[pack.id]))
            lease.release()
        return False

    def ready(self, packs: Sequence[str]) -> tuple[list[str], dict[str, tuple[Plan, Pack]]]:
        """Those of the packs that need not wait, and packs of other plans for which the others wait.

        The latter by id, with their plans: begun, held by nobody, that this worker may take. Raises StoreError.
        """
        free, others = [], {}
        for pack in packs:
            waits = {claim for claim in self._waits.get(pack, ()) if counts(self.store, claim, self.leases)}
            if not waits:
                self._waits.pop(pack, None)
                free.append(pack)
            for claim in waits:
                planned = None if self.leases.holds(claim.pack) else self._planned(claim)
                if planned is not None and self.binder.takes(planned[1]):
                    others[claim.pack] = planned
        return free, others

    def nobody_trains(self, packs: Collection[str]) -> bool:
        """Whether all of the packs wait for packs of other plans that nobody holds.  Raises StoreError."""
        waits = [self._waits.get(pack) for pack in packs]
        return all(waits) and not any(self.leases.holds(claim.pack) for each in waits for claim in each or ())

    def _planned(self, claim: Claim) -> tuple[Plan, Pack] | None:
        """A pack with the plan that holds it; None where that plan cannot be read, or is another by now."""
        try:
            plan = read_plan(self.store, claim.sweep)
        except (DamagedFile, OtherFormat, OldFormat):
            return None
        except StoreError:
            if self.store.plan(claim.sweep).exists():
                raise
            return None
        return next(((plan, pack) for pack in plan.packs if pack.id == claim.pack), None)


def _names(claims: Collection[Claim]) -> str:
    return ", ".join(sorted(claim.pack for claim in claims))
