"""A worker binds packs to its own kind of device: which it may take, and in which mode and width it begins them.

A plan was made for one kind, perhaps that of a machine on which nothing is trained. Where the worker's own is another,
mode and width follow from its own figures, unless the user has said a mode.

Packs that were begun on a kind of which no worker is left are trained anew, so that none waits for ever. A worker with
nothing else to do looks for them. While somebody of their kind holds a pack of the sweep, or a job of it waits that may
get such a device, they are left. A worker of their kind that waits takes them within seconds: so they must have been
free for a while.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from launch.packs.begun_otherwise import (
    Anew,
    Binding,
    binding_of,
    kinds_at_work,
    said_of_anew,
    steps_kept,
    write_binding,
)
from launch.packs.lease_files import LeaseFiles
from launch.packs.leases import Lease, Leases, LostLease
from launch.plan.calibration import calibration_of
from launch.plan.compiling import not_compiled_here
from launch.plan.mode import choice_of
from launch.plan.speed import Calibration, default_calibration
from launch.work.recording import divide, put_in_place
from plasticity_lab.assembly import cost_of
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.kernels.build import missing
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.kinds import goes_on, sort_of
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.work.worker")
FREE_SECONDS = 30.0
"""How long such a pack must have been free, or one lease, where that is shorter: workers that wait look more often."""

MayCome = Callable[[], bool]
"""Whether workers of the sweep wait to be started, on whatever device they are given; may take some seconds."""


class Binder:
    """What one worker makes of packs, by its kind of device."""

    def __init__(self, store: Store, kind: str) -> None:
        self.store, self.kind = store, kind
        self._known: dict[tuple[str, int], Binding | None] = {}

    def is_of_sort(self, pack: Pack) -> bool:
        """Whether it was planned for devices of the worker's sort, of which those of one kind may do it in the end."""
        return sort_of(pack.kind) == sort_of(self.kind)

    def binding(self, pack: Pack) -> Binding | None:
        """To what a pack is bound; None where it is not yet.  Raises StoreError."""
        key = pack.id, latest_epoch(self.store, pack.id)
        if key not in self._known:
            self._known[key] = binding_of(self.store, pack) if key[1] >= 0 else None
        return self._known[key]

    def takes(self, pack: Pack) -> bool:
        """Whether this worker may train a pack, if nobody else does: it is not bound, or to its own kind.

        What earlier versions began on a kind that they did not keep goes on wherever its mode can be computed.
        Raises StoreError.
        """
        bound = self.binding(pack)
        if bound is None or not self.is_of_sort(pack):
            return self.is_of_sort(pack)
        if bound.mode == "eager":
            return goes_on(bound.kind, self.kind)
        computed = not_compiled_here() is None and not (bound.mode == "kernels" and missing() is not None)
        return goes_on(bound.kind, self.kind) and computed

    def bound(self, plan: Plan, pack: Pack, lease: Lease, resource: Resource) -> Pack | None:
        """The pack as this worker trains it, with its kind and mode; None where it is not to: it was given back because
        it has been begun on another kind meanwhile, or divided because it is wider than packs should be here.

        Raises ConfigError for a mode that cannot be computed here; LostLease, StoreError.
        """
        if not self.takes(pack):
            lease.release()
            return None
        if (begun := self.binding(pack)) is not None:
            return replace(pack, kind=self.kind, mode=begun.mode)
        mode, widest = self._own(plan, pack, resource)
        if pack.width > widest:
            log.info("Packs of %s are at most %d wide on %s: one is divided.", pack.family, widest, self.kind)
            divide(self.store, pack, lease, f"packs are at most {widest} wide on {self.kind}")
            return None
        write_binding(self.store, pack.id, Binding(self.kind, mode, pack.width))
        return replace(pack, kind=self.kind, mode=mode)

    def _own(self, plan: Plan, pack: Pack, resource: Resource) -> tuple[str, int]:
        """Mode and greatest width of a pack that nobody has begun; what was planned for this very kind stays."""
        uncompiled = None if pack.mode == "eager" else not_compiled_here()
        if pack.kind == self.kind and uncompiled is None:
            return pack.mode, pack.width
        cost, calibration = cost_of(plan.runs_of(pack)[0], resource), self._calibration()
        mode = choice_of(cost, self.kind, plan.settings.mode, not_compiled_here(), calibration.modes).mode
        return mode, calibration.of(cost.speed).widest(mode)

    def _calibration(self) -> Calibration:
        try:
            return calibration_of(self.kind, self.store)
        except DamagedFile:
            return default_calibration(self.kind)  # whoever planned has named it


def nobody() -> bool:
    """None does."""
    return False


class OtherKinds:
    """What one worker knows of packs that were begun on other kinds."""

    def __init__(self, store: Store, leases: Leases, binder: Binder, may_come: MayCome = nobody) -> None:
        self.store, self.leases, self.binder, self.may_come = store, leases, binder, may_come
        self._free_since: dict[str, float] = {}

    def train_anew(self, packs: Sequence[Pack]) -> bool:
        """Puts new packs in the place of those that nobody will go on with; whether there were any.

        packs: all that are left.  Raises StoreError.
        """
        now = time.monotonic()
        without = self._without_workers(packs)
        self._free_since = {pack.id: self._free_since.get(pack.id, now) for pack in without}
        wait = min(FREE_SECONDS, self.leases.seconds)
        ripe = {pack.id: pack for pack in without if now - self._free_since[pack.id] >= wait}
        if not ripe or self.may_come():
            return False
        done = []
        while (lease := self.leases.claim(list(ripe), lambda pack: not self.binder.takes(ripe[pack]))) is not None:
            pack = ripe.pop(lease.pack)
            bound = self.binder.binding(pack)
            anew = Anew(bound.kind if bound else pack.kind, pack.width, steps_kept(self.store, pack.id))
            with contextlib.suppress(LostLease):  # somebody else does it
                put_in_place(self.store, pack, lease, f"begun on {anew.kind}, of which no worker is left")
                done.append(anew)
        if done:
            log.warning("%s", said_of_anew(done, self.binder.kind))
        return bool(done)

    def _without_workers(self, packs: Sequence[Pack]) -> list[Pack]:
        """Packs bound to other kinds that nobody holds, of kinds of which nobody holds any pack of the sweep."""
        if all(map(self.binder.takes, packs)):
            return []
        held, kinds = kinds_at_work(LeaseFiles(self.store), list(packs), self.leases.seconds)
        found = []
        for pack in packs:
            if pack.id not in held and not self.binder.takes(pack):
                bound = self.binder.binding(pack)
                found += [pack] if bound is None or bound.kind not in kinds else []
        return found
