"""A worker: claims packs of a sweep's plan one after another and trains them, until nothing is left or it is stopped.

    python -m launch.work.worker --store STORE --sweep SWEEP --device cpu

Identical workers do all the work, on a laptop and on a cluster; what they agree on lies in the store. On stderr a
worker reports what happens to its packs; on stdout, in one sentence, why it gave up.
"""

import argparse
import logging
import math
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from pathlib import Path

from launch.packs.leases import Lease, Leases, LostLease, say_if_clocks_differ
from launch.packs.owner import this_owner
from launch.packs.progress import Pace, noted
from launch.plan.device import kind_of
from launch.tracking.choice import tracking_of
from launch.wording import Silence, counted, in_time
from launch.work.binding import Binder, MayCome, OtherKinds, nobody
from launch.work.failures import Died, Failures, failure_of, unknown
from launch.work.patience import Patience, Stopped, give_back
from launch.work.process import free_memory, prepare_process, release_memory
from launch.work.shared_runs import Elsewhere
from launch.work.stop_signal import StopSignal
from launch.work.training import train_pack
from plasticity_lab.assembly import ResourceOf, resources
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import DataError, PlasticityError, StoreError
from plasticity_lab.records.files import names
from plasticity_lab.records.plan import Pack, Plan, in_parts, read_plan
from plasticity_lab.records.provenance import other_code
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import code_digest
from plasticity_lab.waits import waiting

log = logging.getLogger("launch.work.worker")
POLL_SECONDS, LONGEST_POLL_SECONDS, POLL_SHARE = 1.0, 15.0, 0.25
"""How long a worker that waits for others pauses: a share of how long it has waited, so that many may wait for long."""


class OutOfTime(Exception):
    """Packs are free, but none that the worker has the time for.  well: whether those it trained ended well."""

    def __init__(self, well: bool) -> None:
        super().__init__(well)
        self.well = well


class Superseded(Exception):
    """Slurm took the worker's node for lost, and has started its job again elsewhere: this process of it must end."""


def always(seconds: float) -> bool:
    """There is time for a pack of any length."""
    return True


def work(
    store: Store,
    sweep: str,
    device: str,
    stop: Callable[[], bool],
    time_for: Callable[[float], bool] = always,
    patience: float = math.inf,
    died_of_memory: Died = unknown,
    cores: int = 1,
    may_come: MayCome = nobody,
    only: Collection[str] = (),
) -> bool:
    """Trains packs until all of the plan are done.  Returns whether every one it trained ended well.

    While other workers hold the last packs it waits, since a worker can die, for `patience` seconds at most. time_for:
    whether a pack that still needs this many seconds may be begun; the first always may: a later start continues it.
    died_of_memory: of the owner of a lease that has vanished. cores: that this worker may use. may_come: whether other
    workers of the sweep wait to be started. only: the packs that it may train; none: all.
    Raises OutOfTime, Superseded, StoreError, DataError, DeviceLost.
    """
    try:
        worker = Worker(store, sweep, device, stop, time_for, died_of_memory, cores, may_come, only)
    except Stopped:
        return True  # it was asked to stop while it waited for the store
    return worker.work(patience)


class Worker:
    """One worker of a sweep.

    plan: of the sweep, as read last. divided: the listing of divided packs that was seen last. mine: the plan's packs
    for the worker's sort of device, by id, divided ones replaced by their parts. left: those of them that have not
    ended, as far as is known. refused: those that were free when a pack was claimed last, and for which there is no
    time. well: whether the packs it trained ended well. begun: whether it has trained any.
    """

    def __init__(
        self,
        store: Store,
        sweep: str,
        device: str,
        stop: Callable[[], bool],
        time_for: Callable[[float], bool],
        died_of_memory: Died,
        cores: int,
        may_come: MayCome,
        only: Collection[str],
    ) -> None:
        self.store, self.sweep, self.device, self.stop, self.time_for = store, sweep, device, stop, time_for
        self.cores, self.only, self.binder, self.trying = cores, only, Binder(store, kind_of(device)), Patience(stop)
        self.plan = self.trying.until_done("plan", self._read_plan)
        code_digest()  # of the files as they are now: what is edited while it trains is not its code
        if other := other_code(self.plan.code, sweep):
            log.warning("%s", other)
        self.leases = Leases(store, self.plan.settings.launch.lease_seconds, this_owner())
        self.failures = Failures(store, self.leases, died_of_memory)
        self.elsewhere = Elsewhere(store, self.leases, self.binder)
        self.other_kinds = OtherKinds(store, self.leases, self.binder, may_come)
        self.tracking = tracking_of(store, self.plan.sweep, self.plan.settings.tracking)
        self.divided: list[str] | None = None
        self.mine: dict[str, Pack] = {}
        self.left: list[str] = []
        self.refused: list[str] = []
        self.pace, self.well, self.begun = Pace(store), True, False

    def work(self, patience: float) -> bool:
        """As the function of that name."""
        busy, silence = time.monotonic(), Silence()
        try:
            say_if_clocks_differ(self.store)
            while not self.stop() and self.trying.until_done("packs", self._look):
                claimed = self.trying.until_done("lease", self._claim)
                if claimed is not None:
                    self.well &= self._train_claimed(*claimed)
                    self.begun, busy, silence = True, time.monotonic(), Silence()
                    continue
                if self.refused:
                    raise OutOfTime(self.well)
                waited = time.monotonic() - busy
                if self.leases.left(self.left) != self.left:
                    continue  # some have ended meanwhile, perhaps the last
                if self.trying.until_done("leases", lambda: self.elsewhere.nobody_trains(self.left)):
                    count = len(self.left)
                    log.warning("%d packs wait for packs of other sweeps, which nobody trains: resume those.", count)
                    break
                if self.trying.until_done("packs", lambda: self.other_kinds.train_anew(self._packs_left())):
                    continue
                if waited > patience:
                    log.info("Others train the %d packs that are left, or will.", len(self.left))
                    break
                if silence.is_over(waited):
                    held = counted(len(self.left), "pack")
                    log.info("Waits for %s, which other workers hold: %s so far.", held, in_time(waited))
                self._sleep(min(max(POLL_SECONDS, POLL_SHARE * waited), LONGEST_POLL_SECONDS))
        except Stopped:
            pass  # it was asked to stop while it waited for the store
        finally:
            self.tracking.close(self.stop())
        return self.well

    def _look(self) -> bool:
        """Looks which packs are left.  Returns whether any are.  Raises StoreError."""
        new = not self.mine
        self._look_for_parts()
        if not new and not self.left:
            self.plan = self._read_plan()  # the command may have been given again, and planned anew
            self.divided = None
            self._look_for_parts()
            new = True
        if new:
            # One listing of what may be very many; later endings are found pack by pack, by `claim`.
            self.leases.done(self.mine)
            self.left = self.leases.left(self.mine)
        return bool(self.left)

    def _read_plan(self) -> Plan:
        plan = read_plan(self.store, self.sweep)
        return replace(plan, packs=[pack for pack in plan.packs if not self.only or pack.id in self.only])

    def _look_for_parts(self) -> None:
        """Replaces packs that were divided since the last look, and leaves out those that have ended."""
        divided = names(self.store.divided_folder)
        if divided != self.divided:
            self.divided = divided
            whole = in_parts(self.store, self.plan.packs)
            self.mine = {pack.id: pack for pack in whole if self.binder.is_of_sort(pack)}
            self.left = list(self.mine)
        self.left = self.leases.left(self.left)

    def _packs_left(self) -> list[Pack]:
        return [self.mine[pack] for pack in self.leases.left(self.left)]

    def _claim(self) -> tuple[Plan, Pack, Lease] | None:
        """A pack that is free, with its plan and its lease; one of another plan only if runs of ours wait for it.

        Raises StoreError.
        """
        free, others = self.elsewhere.ready(self.left)
        known = {pack: (self.plan, self.mine[pack]) for pack in free} | others
        self.refused = []

        def wanted(pack: str) -> bool:
            if not self.binder.takes(known[pack][1]):
                return False
            if not self.begun or self.time_for is always:
                return True
            if self.time_for(self.pace.seconds_needed(known[pack][1], self.mine, self.left)):
                return True
            self.refused.append(pack)
            return False

        lease = self.leases.claim(list(known), wanted)
        return None if lease is None else (*known[lease.pack], lease)

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.stop() and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, POLL_SECONDS))

    def _train_claimed(self, plan: Plan, pack: Pack, lease: Lease) -> bool:
        """Trains one pack and deals with its failure, if it fails.  Returns False if failed runs were recorded."""
        runs, recorded, failure = plan.runs_of(pack), False, None
        try:
            try:
                if not self.trying.until_done("claims", lambda: self.elsewhere.is_free(plan, pack, lease)):
                    return True
                self.trying.until_done("leases", lambda: self.failures.look_back(pack, lease))
                with noted(self.store, pack.id, self.tracking.state):
                    resource, bound = self._bound(plan, pack, lease)
                    if bound is None:
                        return True
                    pack, how = bound, (self.device, lease, self.stop, self.tracking, self.cores)
                    train_pack(self.store, plan, pack, resource, *how)
                recorded = True
            except (StoreError, DataError):
                # Nothing of the run's is wrong: the pack stays unfinished, and goes on once disk or data are back.
                give_back(lease)
                raise
            except (Stopped, LostLease):
                raise
            except Exception as error:
                failure = failure_of(error)
            # Outside of the handler, where the exception holds the pack's tensors no longer.
            if failure is not None:
                met = failure
                recorded = self.trying.until_done("failure", lambda: self.failures.meet(plan, pack, lease, met))
                free_memory(self.device)
        except Stopped:
            give_back(lease)
        except LostLease:
            log.warning("Pack %s was taken over by another worker.", pack.id)
            # It and the worker of the later start would take packs from each other in turn.
            if self.leases.inherited(pack.id):
                raise Superseded from None
        finally:
            release_memory()
            self.tracking.end(runs, recorded)
        return failure is None or not recorded

    def _bound(self, plan: Plan, pack: Pack, lease: Lease) -> tuple[Resource, Pack | None]:
        """What the pack's tasks are made of, and the pack as `Binder.bound` has it.  Raises the same; DataError."""
        with waiting("reading", "data"):
            resource = _resources(plan.settings.data)(plan.runs_of(pack)[0])
        return resource, self.trying.until_done("binding", lambda: self.binder.bound(plan, pack, lease, resource))


@cache
def _resources(data: Path | None) -> ResourceOf:
    return resources(data_folder(data))


def main(arguments: list[str] | None = None) -> int:
    """The command.  Returns its exit status: 1 if a pack failed or the store gave way."""
    parser = argparse.ArgumentParser(prog="python -m launch.work.worker", description="Train packs of a planned sweep.")
    parser.add_argument("--store", type=Path, required=True, help="the folder of records; required")
    parser.add_argument("--sweep", required=True, help="the sweep's id: a folder of <store>/sweeps; required")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cores", type=int, default=1, help="that it may use: those that no other worker needs")
    parser.add_argument("--packs", nargs="*", default=(), help="the ids of those that it may train; none: all")
    parser.add_argument("--parent", type=int, help="stop, with a checkpoint, when this process is gone")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("launch").setLevel(logging.INFO)
    stop = StopSignal(options.parent)
    prepare_process()
    try:
        well = work(Store(options.store), options.sweep, options.device, stop, cores=options.cores, only=options.packs)
        return 0 if well else 1
    except PlasticityError as error:
        print(error, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
