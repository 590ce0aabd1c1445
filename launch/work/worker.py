"""A worker: claims packs of a sweep's plan one after another and trains them, until nothing is left or it is stopped.

    python -m launch.work.worker --store STORE --sweep SWEEP --device cpu

Identical workers do all the work, on a laptop and on a cluster; what they agree on lies in the store. On stderr a
worker tells what happens to its packs; on stdout, in one sentence, why it gave up.
"""

import argparse
import contextlib
import logging
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType

from launch.packs.leases import Lease, Leases, LostLease
from launch.packs.owner import this_owner
from launch.packs.progress import reached
from launch.plan.device import kind_of
from launch.tracking.choice import Tracking, tracking_of
from launch.work.failures import Failures, failure_of
from launch.work.process import free_memory, prepare_process
from launch.work.training import Stopped, train_pack
from plasticity_lab.assembly import ResourceOf, resources
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import DataError, PlasticityError, StoreError
from plasticity_lab.records.plan import Pack, Plan, in_parts, read_plan
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.work.worker")
POLL_SECONDS = 1.0


class OutOfTime(Exception):
    """Packs are free, but none that the worker has the time for.  well: whether those it trained ended well."""

    def __init__(self, well: bool) -> None:
        super().__init__(well)
        self.well = well


class Superseded(Exception):
    """Slurm took the worker's node for lost, and has started its job again elsewhere: this process of it must end."""


class StopSignal:
    """Whether the worker is to stop: after SIGINT or SIGTERM, or when the process that started it is gone."""

    def __init__(self, parent: int | None) -> None:
        self.parent = parent
        self.received = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    def __call__(self) -> bool:
        """True once it is time to checkpoint and leave."""
        return self.received or (self.parent is not None and os.getppid() != self.parent)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = True


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
) -> bool:
    """Trains packs until all of the plan are done.  Returns whether every one it trained ended well.

    While other workers hold the last packs it waits, since a worker can die, for `patience` seconds at most. time_for:
    whether a pack that still needs this many seconds may be begun; the first always may: a later start continues it.
    Raises OutOfTime, Superseded, StoreError, DataError, DeviceLost.
    """
    plan = read_plan(store, sweep)
    leases = Leases(store, plan.settings.launch.lease_seconds, this_owner())
    failures = Failures(store, leases)
    well, begun, busy = True, False, time.monotonic()
    tracking = tracking_of(store, plan.sweep, plan.settings.tracking)
    try:
        while not stop():
            mine, left = _to_do(store, plan, device, leases)
            if not left:
                plan = read_plan(store, sweep)  # the command may have been given again, and planned anew
                mine, left = _to_do(store, plan, device, leases)
            if not left:
                break
            short = [pack for pack in left if time_for(seconds_needed(store, mine[pack]))] if begun else left
            lease = leases.claim(short)
            if lease is None:
                if len(short) < len(left) and not all(state.held for state in leases.state(left).values()):
                    raise OutOfTime(well)
                if time.monotonic() - busy > patience:
                    log.info("Others train the %d packs that are left.", len(left))
                    break
                time.sleep(POLL_SECONDS)
                continue
            well &= _train_claimed(store, plan, mine[lease.pack], leases, lease, device, stop, tracking, failures)
            begun, busy = True, time.monotonic()
    finally:
        tracking.close(stop())
    return well


def _to_do(store: Store, plan: Plan, device: str, leases: Leases) -> tuple[dict[str, Pack], list[str]]:
    """The plan's packs for this kind of device, divided ones replaced by their halves; and those left."""
    mine = {pack.id: pack for pack in in_parts(store, plan.packs) if pack.kind == kind_of(device)}
    done = leases.done(mine)
    return mine, [pack for pack in mine if pack not in done]


def seconds_needed(store: Store, pack: Pack) -> float:
    """Estimated seconds until the end of a pack that may have been begun."""
    return pack.seconds * (1 - reached(store, pack.id).steps / pack.steps)


def _train_claimed(
    store: Store,
    plan: Plan,
    pack: Pack,
    leases: Leases,
    lease: Lease,
    device: str,
    stop: Callable[[], bool],
    tracking: Tracking,
    failures: Failures,
) -> bool:
    """Trains one pack and deals with its failure, if it fails.  Returns False if failed runs were recorded."""
    runs = plan.runs_of(pack)
    recorded, failure = False, None
    try:
        try:
            failures.look_back(pack, lease)
            resource = _resources(plan.settings.data)(runs[0])
            train_pack(store, plan, pack, resource, device, lease, stop, tracking)
            recorded = True
        except Stopped:
            lease.release()
        except (StoreError, DataError):
            # Nothing of the run's is wrong: the pack stays unfinished, and goes on once disk or data are there again.
            with contextlib.suppress(StoreError):
                lease.release()
            raise
        except LostLease:
            raise
        except Exception as error:
            failure = failure_of(error)
        # Outside of the handler, where the exception holds the pack's tensors no longer.
        if failure is not None:
            recorded = failures.meet(plan, pack, lease, failure)
            free_memory(device)
    except LostLease:
        log.warning("Pack %s was taken over by another worker.", pack.id)
        # It and the worker of the later start would take packs from each other in turn.
        if leases.inherited(pack.id):
            raise Superseded from None
    finally:
        tracking.end(runs, recorded)
    return failure is None or not recorded


@cache
def _resources(data: Path | None) -> ResourceOf:
    return resources(data_folder(data))


def main(arguments: list[str] | None = None) -> int:
    """The command.  Returns its exit status: 1 if a pack failed or the store gave way."""
    parser = argparse.ArgumentParser(prog="python -m launch.work.worker", description="Train packs of a planned sweep.")
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--sweep", required=True, help="the sweep's id: a folder of <store>/sweeps")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--parent", type=int, help="stop, with a checkpoint, when this process is gone")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("launch").setLevel(logging.INFO)
    stop = StopSignal(options.parent)
    prepare_process()
    try:
        return 0 if work(Store(options.store), options.sweep, options.device, stop) else 1
    except PlasticityError as error:
        print(error, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
