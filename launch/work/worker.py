"""A worker: claims packs of a sweep's plan one after another and trains them, until nothing is left or it is stopped.

    python -m launch.work.worker --store STORE --sweep SWEEP --device cpu

Identical workers do all the work, on a laptop and on a cluster, and share state only through the store. A worker
reports on its packs on stderr. If it gives up, it says why in one sentence on stdout.
"""

import argparse
import contextlib
import logging
import math
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from launch.packs.leases import Lease, Leases, LostLease
from launch.packs.owner import this_owner
from launch.packs.progress import noted
from launch.plan.device import kind_of
from launch.tracking.client import tracking_of
from launch.wording import Silence, counted, in_time
from launch.work.claiming import Claiming
from launch.work.failures import Died, Failures, failure_of
from launch.work.patience import Patience, Stopped, StopSignal, give_back
from launch.work.process import free_memory, prepare_process, release_memory
from launch.work.training import Session, train_pack
from plasticity_lab.errors import DataError, PlasticityError, StoreError
from plasticity_lab.records.files import clock_offset, names
from plasticity_lab.records.plan import Pack, Plan, in_parts, read_plan
from plasticity_lab.records.provenance import other_code
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import code_digest

log = logging.getLogger("launch.work.worker")
POLL_SECONDS, LONGEST_POLL_SECONDS, POLL_SHARE = 1.0, 15.0, 0.25
"""Pauses of a worker that waits for others: a share of its wait so far, so that many may wait for long."""
CLOCKS_APART_SECONDS = 5.0
"""A larger difference of clocks is logged, since times in leases and logs would disagree."""


class OutOfTime(Exception):
    """Packs are free, but the worker has time for none of them.  well: whether the packs it trained ended well."""

    def __init__(self, well: bool) -> None:
        super().__init__(well)
        self.well = well


class Superseded(Exception):
    """Slurm gave up the worker's node and has started its job again elsewhere: this process must end."""


@dataclass
class Worker:
    """One worker of a sweep.

    stop: whether it must stop. time_for: whether it may begin a pack that still needs this many seconds. It may always
    begin its first: a later start continues it. patience: the most seconds that it waits while others hold the last
    packs; they may die. died_of_memory: whether the vanished owner of a lease ran out of memory. cores: the number of
    cores that this worker may use. sharing: the number of workers on its GPU. may_come: whether other workers of the
    sweep are queued. only: the packs that it may train; if empty, all.

    plan: the sweep's plan, as last read. divided: the last listing of divided packs. packs: the plan's packs for the
    worker's sort of device, by id; divided packs are replaced by their parts. left: the ids of the packs that are not
    known to have ended. well: whether the packs it trained ended well.
    """

    store: Store
    sweep: str
    device: str
    stop: Callable[[], bool]
    time_for: Callable[[float], bool] | None = None
    patience: float = math.inf
    died_of_memory: Died = lambda owner: False
    cores: int = 1
    sharing: int = 1
    may_come: Callable[[], bool] = lambda: False
    only: Collection[str] = ()

    def work(self) -> bool:
        """Trains packs until all packs of the plan are done.  Returns whether every pack that it trained ended well.

        Raises OutOfTime, Superseded, StoreError, DataError, DeviceLost.
        """
        self.well = True
        with contextlib.suppress(Stopped):  # it was asked to stop while it waited for the store
            self._begin()
            try:
                self._train_all()
            finally:
                self.tracking.close(self.stop())
        return self.well

    def _begin(self) -> None:
        self.trying = Patience(self.stop)
        self.plan = self.trying.until_done("plan", self._read_plan)
        code_digest()  # now, so that later edits of the files do not count as the code of this worker
        if other := other_code(self.plan.code, self.sweep):
            log.warning("%s", other)
        self.leases = Leases(self.store, self.plan.settings.launch.lease_seconds, this_owner())
        which = kind_of(self.device), self.leases, self.may_come, self.time_for, self.device
        self.claiming = Claiming(self.store, *which)
        self.failures = Failures(self.store, self.leases, self.died_of_memory)
        self.tracking = tracking_of(self.store, self.plan.sweep, self.plan.settings.tracking)
        self.divided: list[str] | None = None
        self.packs: dict[str, Pack] = {}
        self.left: list[str] = []

    def _train_all(self) -> None:
        """Claims and trains packs until none is left, or until it must stop or may go.  Raises as `work`; Stopped."""
        busy, silence = time.monotonic(), Silence()
        _say_if_clocks_differ(self.store)
        while not self.stop() and self.trying.until_done("packs", self._look):
            claimed = self.trying.until_done("lease", lambda: self.claiming.claim(self.plan, self.left, self.packs))
            if claimed is not None:
                self.well &= self._train_claimed(*claimed)
                self.claiming.begun, busy, silence = True, time.monotonic(), Silence()
                continue
            if self.claiming.refused:
                raise OutOfTime(self.well)
            waited = time.monotonic() - busy
            if self.leases.left(self.left) != self.left:
                continue  # some have ended since, possibly the last
            if self.trying.until_done("leases", lambda: self.claiming.nobody_trains(self.left)):
                count = len(self.left)
                log.warning("%d packs wait for packs of other sweeps, which no worker trains: resume those.", count)
                break
            if self.trying.until_done("packs", lambda: self.claiming.train_anew(self.left, self.packs)):
                continue
            if waited > self.patience:
                log.info("Others train the %d packs that are left, or will.", len(self.left))
                break
            if silence.is_over(waited):
                held = counted(len(self.left), "pack")
                log.info("Waits for %s, which other workers hold: %s so far.", held, in_time(waited))
            self._sleep(min(max(POLL_SECONDS, POLL_SHARE * waited), LONGEST_POLL_SECONDS))

    def _look(self) -> bool:
        """Updates the packs that are left.  Returns whether any are.  Raises StoreError."""
        new = not self.packs
        self._look_for_parts()
        if not new and not self.left:
            self.plan = self._read_plan()  # the command may have been given again and have planned new packs
            self.divided = None
            self._look_for_parts()
            new = True
        if new:
            # One listing of possibly very many endings; `claim` finds later ones pack by pack.
            self.leases.done(self.packs)
            self.left = self.leases.left(self.packs)
        return bool(self.left)

    def _read_plan(self) -> Plan:
        plan = read_plan(self.store, self.sweep)
        return replace(plan, packs=[pack for pack in plan.packs if not self.only or pack.id in self.only])

    def _look_for_parts(self) -> None:
        """Replaces packs that were divided since the last call, and leaves out packs that have ended."""
        divided = names(self.store.divided_folder)
        if divided != self.divided:
            self.divided = divided
            whole = in_parts(self.store, self.plan.packs)
            self.packs = {pack.id: pack for pack in whole if self.claiming.is_of_sort(pack)}
            self.left = list(self.packs)
        self.left = self.leases.left(self.left)

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.stop() and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, POLL_SECONDS))

    def _train_claimed(self, plan: Plan, pack: Pack, lease: Lease) -> bool:
        """Trains one pack and handles its failure.  Returns False if failed runs were recorded."""
        recorded, failure = False, None
        try:
            try:
                if not self.trying.until_done("claims", lambda: self.claiming.is_free(plan, pack, lease)):
                    return True
                self.trying.until_done("leases", lambda: self.failures.look_back(pack, lease))
                with noted(self.store, pack.id, self.tracking.state):
                    resource = self.claiming.resource(plan, pack)
                    bound = self.trying.until_done("binding", lambda: self.claiming.bound(plan, pack, lease, resource))
                    if bound is None:
                        return True
                    pack, how = bound, (resource, self.device, lease, self.stop, self.tracking)
                    train_pack(Session(self.store, plan, pack, *how, self.cores, self.sharing))
                recorded = True
            except (StoreError, DataError):
                # No fault of a run: the pack stays unfinished, and goes on once disk or data are back.
                give_back(lease)
                raise
            except (Stopped, LostLease):
                raise
            except Exception as error:
                failure = failure_of(error)
            # Outside of the handler: inside it, the exception would keep the pack's tensors alive.
            if failure is not None:
                met = failure
                recorded = self.trying.until_done("failure", lambda: self.failures.meet(plan, pack, lease, met))
                free_memory(self.device)
        except Stopped:
            give_back(lease)
        except LostLease:
            log.warning("Pack %s was taken over by another worker.", pack.id)
            # This worker and the one of the later start would take packs from each other in turn.
            if self.leases.inherited(pack.id):
                raise Superseded from None
        finally:
            release_memory()
            self.tracking.end(plan.runs_of(pack), recorded)
        return failure is None or not recorded


def _say_if_clocks_differ(store: Store) -> None:
    """Logs a difference between the file server's clock and this machine's."""
    with contextlib.suppress(StoreError):
        apart = clock_offset(store.leases_folder)
        if abs(apart) > CLOCKS_APART_SECONDS:
            log.warning(
                "The clock that stamps the files of %s is %.0f s %s this machine's. Leases go by the former; if each "
                "machine stamps the files that it writes, as on Lustre or sshfs, have the clocks set (NTP).",
                store.root,
                abs(apart),
                "ahead of" if apart > 0 else "behind",
            )


def main(arguments: list[str] | None = None) -> int:
    """The command.  Returns its exit status: 1 if a pack failed or the store gave way."""
    parser = argparse.ArgumentParser(prog="python -m launch.work.worker", description="Train packs of a planned sweep.")
    parser.add_argument("--store", type=Path, required=True, help="the folder of records; required")
    parser.add_argument("--sweep", required=True, help="the sweep's id: a folder of <store>/sweeps; required")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cores", type=int, default=1, help="the number of cores that it may use")
    parser.add_argument("--sharing", type=int, default=1, help="the number of workers on its GPU")
    parser.add_argument("--packs", nargs="*", default=(), help="the ids of the packs that it may train; if none, all")
    parser.add_argument("--parent", type=int, help="stop, with a checkpoint, when this process is gone")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("launch").setLevel(logging.INFO)
    stop = StopSignal(options.parent)
    prepare_process()
    try:
        how = {"cores": options.cores, "sharing": options.sharing, "only": options.packs}
        return 0 if Worker(Store(options.store), options.sweep, options.device, stop, **how).work() else 1
    except PlasticityError as error:
        print(error, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
