"""Selects the packs that one worker may train: packs for its kind of device, with runs that no other pack trains.

A plan is made for one kind of device, possibly for a machine that trains nothing. A worker on another kind chooses mode
and width from its own calibration, unless the user has named a mode. A checkpoint binds a pack to the kind of device
that wrote it.

If no worker of a pack's kind is left, the pack is trained again from the start, so that no pack waits forever. An idle
worker looks for such packs. It leaves them alone while a worker of their kind holds a pack of the sweep, or while a
queued job may get such a device. A waiting worker of their kind takes them within seconds, so they must have been free
for a while.

Two commands given at the same moment plan the same runs twice. So a worker claims the runs of a pack before it begins
the pack. Runs that are trained in other packs are moved into a separate pack. That pack waits for the other packs and
ends with them. If a pack of another plan was begun and no worker holds it, the worker that waits for it trains it.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from launch.packs.begun_otherwise import (
    Anew,
    Binding,
    binding_of,
    said_of_anew,
    steps_kept,
    without_workers,
    write_binding,
)
from launch.packs.endings import Ending
from launch.packs.leases import Lease, Leases, LostLease
from launch.packs.progress import Pace
from launch.packs.run_claims import Claim, claim_runs, clear_claims, counts
from launch.plan.calibration import calibrated
from launch.plan.device import not_compiled_here
from launch.plan.planner import choice_of
from launch.work.recording import divide, end_pack, put_in_place, recorded_elsewhere
from plasticity_lab.assays.source import with_store
from plasticity_lab.assembly import ResourceOf, cost_of, resources
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import StoreError
from plasticity_lab.kernels.build import missing
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.damage import DamagedFile, OtherFormat
from plasticity_lab.records.kinds import sort_of
from plasticity_lab.records.plan import Pack, Plan, read_plan
from plasticity_lab.records.store import Store
from plasticity_lab.waits import waiting

log = logging.getLogger("launch.work.worker")
FREE_SECONDS = 30.0
"""A pack of another kind must have been free for this many seconds, or for one lease if that is shorter."""
_TRAINED_ELSEWHERE = "some of its runs are trained in other packs, or have been"


class Claiming:
    """The claims of one worker.

    kind: the kind of its device. may_come: whether other workers of the sweep are queued. time_for: whether the worker
    may begin a pack that still needs this many seconds; None: any pack. It may always begin its first. begun: whether
    the worker has trained any pack. refused: the packs that were free at the last claim, but too long for the time
    left. device: its name for torch.
    """

    def __init__(
        self,
        store: Store,
        kind: str,
        leases: Leases,
        may_come: Callable[[], bool],
        time_for: Callable[[float], bool] | None,
        device: str,
    ) -> None:
        self.store, self.kind, self.leases, self.may_come, self.device = store, kind, leases, may_come, device
        self.time_for, self.pace, self.begun = time_for, Pace(store), False
        self.refused: list[Pack] = []
        self._bindings: dict[tuple[str, int], Binding | None] = {}
        self._waits: dict[str, set[Claim]] = {}
        self._free_since: dict[str, float] = {}

    def is_of_sort(self, pack: Pack) -> bool:
        """Whether a pack was planned for the worker's sort of device (CPU or GPU)."""
        return sort_of(pack.kind) == sort_of(self.kind)

    def claim(self, plan: Plan, left: Sequence[str], packs: Mapping[str, Pack]) -> tuple[Plan, Pack, Lease] | None:
        """A free pack with its plan and lease; a pack of another plan only if runs of this plan wait for it.

        packs: the plan's packs by id. left: the ids of the packs that have not ended. Raises StoreError.
        """
        self.refused = []
        free, others = self._ready(left)
        known = {pack: (plan, packs[pack]) for pack in free} | others

        def wanted(name: str) -> bool:
            pack = known[name][1]
            if not self.takes(pack):
                return False
            if not self.begun or self.time_for is None:
                return True
            if self.time_for(self.pace.seconds_needed(pack, packs, left)):
                return True
            self.refused.append(pack)
            return False

        lease = self.leases.claim(list(known), wanted)
        return None if lease is None else (*known[lease.pack], lease)

    def is_free(self, plan: Plan, pack: Pack, lease: Lease) -> bool:
        """Whether a pack that the worker holds may be trained: it was begun before, or all its runs are claimed for it.

        If not, the pack has ended, was divided, or waits; a waiting pack's lease is released.
        Raises LostLease, StoreError.
        """
        if latest_epoch(self.store, pack.id) >= 0:
            return True
        taken = claim_runs(self.store, pack, plan.sweep, self.leases)
        # After the claims: a worker records a run before it gives up its claim.
        recorded = set() if plan.settings.rerun else recorded_elsewhere(self.store, pack)
        elsewhere = taken.keys() | recorded
        if not elsewhere:
            return True
        clear_claims(self.store, pack.id, pack.runs)
        if len(elsewhere) < pack.width:
            log.info("A pack of %s is divided: %s", pack.family, _TRAINED_ELSEWHERE)
            divide(self.store, pack, lease, _TRAINED_ELSEWHERE, apart=elsewhere)
        elif taken.keys() <= recorded:
            log.info("The runs of pack %s have been trained in other packs.", pack.id)
            end_pack(self.store, pack, lease, Ending("done", error="", diverged=0), runs=[])
        else:
            self._waits[pack.id] = {claim for run, claim in taken.items() if run not in recorded}
            others = ", ".join(sorted(claim.pack for claim in self._waits[pack.id]))
            log.info("Pack %s waits for %s, which train its runs.", pack.id, others)
            lease.release()
        return False

    def resource(self, plan: Plan, pack: Pack) -> Resource:
        """The data of a pack's tasks.  Raises DataError."""
        with waiting("reading", "data"):
            run = plan.runs_of(pack)[0]
            return with_store(_resources(plan.settings.data)(run), run, self.store)

    def bound(self, plan: Plan, pack: Pack, lease: Lease, resource: Resource) -> Pack | None:
        """The pack with the kind and mode that this worker trains it in; None if this worker must not train it.

        None means one of two cases. A worker on another kind has begun the pack since: its lease is released. Or the
        pack is wider than packs of this kind: it is divided. Raises ConfigError if the mode cannot be computed here;
        LostLease, StoreError.
        """
        if not self.takes(pack):
            lease.release()
            return None
        if (begun := self._binding(pack)) is not None:
            return replace(pack, kind=self.kind, mode=begun.mode)
        mode, widest = self._mode_and_width(plan, pack, resource)
        if pack.width > widest:
            log.info("Packs of %s are at most %d wide on %s: one is divided.", pack.family, widest, self.kind)
            divide(self.store, pack, lease, f"packs are at most {widest} wide on {self.kind}")
            return None
        write_binding(self.store, pack.id, Binding(self.kind, mode, pack.width))
        return replace(pack, kind=self.kind, mode=mode)

    def takes(self, pack: Pack) -> bool:
        """Whether this worker may train a pack that is free: it is not bound, or bound to the worker's kind.

        Its mode must be one that can be computed here.  Raises StoreError.
        """
        bound = self._binding(pack)
        if bound is None or not self.is_of_sort(pack):
            return self.is_of_sort(pack)
        compiles = not_compiled_here(self.device) is None and not (bound.mode == "kernels" and missing() is not None)
        return bound.kind == self.kind and (bound.mode == "eager" or compiles)

    def nobody_trains(self, packs: Collection[str]) -> bool:
        """Whether all packs wait for packs of other plans that no worker holds.  Raises StoreError."""
        waits = [self._waits.get(pack, set()) for pack in packs]
        return all(waits) and not any(self.leases.holds(claim.pack) for claims in waits for claim in claims)

    def train_anew(self, left: Sequence[str], known: Mapping[str, Pack]) -> bool:
        """Replaces packs that no worker can continue by new packs.  Returns whether it replaced any.

        left, known: as `left` and `packs` of `claim`.  Raises StoreError.
        """
        packs = [known[pack] for pack in left]
        now = time.monotonic()
        others = {pack.id: bound for pack in packs if not self.takes(pack) and (bound := self._binding(pack))}
        without = without_workers(self.store, packs, others, self.leases.seconds)
        self._free_since = {pack: self._free_since.get(pack, now) for pack in without}
        wait = min(FREE_SECONDS, self.leases.seconds)
        ripe = {pack.id: pack for pack in packs if pack.id in without and now - self._free_since[pack.id] >= wait}
        if not ripe or self.may_come():
            return False
        replaced = []
        while (lease := self.leases.claim(list(ripe), lambda pack: not self.takes(ripe[pack]))) is not None:
            pack = ripe.pop(lease.pack)
            anew = Anew(without[pack.id].kind, pack.width, steps_kept(self.store, pack.id))
            with contextlib.suppress(LostLease):  # another worker does it
                put_in_place(self.store, pack, lease, f"begun on {anew.kind}, and no worker on it is left")
                replaced.append(anew)
        if replaced:
            log.warning("%s", said_of_anew(replaced, self.kind))
        return bool(replaced)

    def _ready(self, packs: Sequence[str]) -> tuple[list[str], dict[str, tuple[Plan, Pack]]]:
        """The packs that need not wait, and the packs of other plans that block the rest: id → (plan, pack).

        Each listed blocking pack was begun, and no worker holds it. Raises StoreError.
        """
        free, others = [], {}
        for pack in packs:
            waits = {claim for claim in self._waits.get(pack, ()) if counts(self.store, claim, self.leases)}
            if not waits:
                self._waits.pop(pack, None)
                free.append(pack)
            for claim in waits:
                planned = None if self.leases.holds(claim.pack) else self._planned(claim)
                if planned is not None:
                    others[claim.pack] = planned
        return free, others

    def _planned(self, claim: Claim) -> tuple[Plan, Pack] | None:
        """A pack with the plan that holds it; None if that plan cannot be read, or has been replaced."""
        try:
            plan = read_plan(self.store, claim.sweep)
        except (DamagedFile, OtherFormat):
            return None
        except StoreError:
            if self.store.plan(claim.sweep).exists():
                raise
            return None
        return next(((plan, pack) for pack in plan.packs if pack.id == claim.pack), None)

    def _binding(self, pack: Pack) -> Binding | None:
        """The kind, mode and width of a pack that was begun; None for any other.  Raises StoreError."""
        key = pack.id, latest_epoch(self.store, pack.id)
        if key not in self._bindings:
            self._bindings[key] = binding_of(self.store, pack)
        return self._bindings[key]

    def _mode_and_width(self, plan: Plan, pack: Pack, resource: Resource) -> tuple[str, int]:
        """Mode and greatest width of a pack that no worker has begun; a plan for exactly this kind is kept."""
        uncompiled = None if pack.mode == "eager" else not_compiled_here(self.device)
        if pack.kind == self.kind and uncompiled is None:
            return pack.mode, pack.width
        cost = cost_of(plan.runs_of(pack)[0], resource, plan.settings.replay_memory_compressed)
        calibration, _ = calibrated(self.store, self.kind)  # the command that planned has named damaged files
        mode = choice_of(cost, self.kind, plan.settings.mode, not_compiled_here(self.device), calibration.modes).mode
        return mode, calibration.of(cost.speed).widest(mode)


@cache
def _resources(data: Path | None) -> ResourceOf:
    return resources(data_folder(data))
