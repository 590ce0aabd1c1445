"""Starts, watches and stops the worker processes of one machine.

Another process compiles graphs in advance if this machine has a core that no worker uses.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

from launch.launchers.display import Display, Watch, display
from launch.packs.lease_files import LeaseFiles
from launch.packs.leases import Lease, Leases
from launch.packs.owner import this_owner
from launch.plan.device import cores, limited_memory
from launch.tracking.wandb.marks import count_written, destination_of
from launch.wording import in_bytes
from launch.work.failures import DIVIDED_AFTER
from launch.work.patience import NOTICE_SECONDS
from launch.work.precompile import packs_to_precompile
from plasticity_lab.errors import StoreError
from plasticity_lab.process.import_path import for_children
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store

LOOK_SECONDS = 0.5
CHECKOUT = Path(__file__).resolve().parents[2]


class Uploads:
    """Counts the runs that workers have written to W&B, from their marks in the store."""

    def __init__(self, store: Store, tracking: TrackingSettings) -> None:
        self._store, self._tracking = store, tracking
        self._complete = 0

    def words(self, packs: Sequence[Pack]) -> str:
        """Words such as «writing them to W&B: 12 of 57 runs».  packs: all have ended.  Raises StoreError."""
        destination = destination_of(self._tracking)
        if destination is None:
            return "the workers are ending"
        runs = sum(pack.width for pack in packs)
        if self._complete < runs:
            self._complete = count_written(self._store, [pack.id for pack in packs], destination)
        return f"writing them to W&B: {self._complete:,} of {runs:,} runs"


def run_workers(
    store: Store, plan: Plan, packs: Sequence[Pack], devices: Sequence[str], only: Sequence[str] = ()
) -> list[str]:
    """Starts a worker on each device, and shows the workers' progress and lines until the last worker has ended.

    A dead worker is not replaced, since the others take over its packs, unless `Killed` finds that memory ran out.
    On Ctrl-C or SIGTERM the workers write checkpoints and end, then KeyboardInterrupt is raised again. The workers also
    write checkpoints and end if this process is killed. only: the ids of packs that they may train; empty: all packs.
    Returns the reasons why workers ended early, each reason once.
    """
    watch, shown, uploads = Watch(store, packs), display(), Uploads(store, plan.settings.tracking)
    killed = Killed(store, plan.settings.launch.lease_seconds)
    with _interrupted_by_sigterm(), contextlib.ExitStack() as files:
        workers: list[_Worker] = []
        said_by: dict[str, _Worker] = {}
        try:
            shares = {device: (max(1, cores() // len(devices)), devices.count(device)) for device in devices}
            for device in devices:
                workers.append(_Worker(store, plan.sweep, device, shares[device], files, only))
            files.enter_context(precompiling(store, plan, packs, len(workers)))
            while True:
                _pass_on(workers, shown, said_by)
                for worker in [worker for worker in workers if worker.was_killed()]:
                    if why := killed.calls_for_another(worker.process.pid):
                        shown.say(why)
                        workers.append(_Worker(store, plan.sweep, worker.device, shares[worker.device], files, only))
                if all(worker.process.poll() is not None for worker in workers):
                    break
                with contextlib.suppress(StoreFault):  # the workers wait until the store works again, and say so
                    now = watch.look()
                    shown.show(now, uploads.words(watch.packs) if watch.over else "")
                time.sleep(LOOK_SECONDS)
            _pass_on(workers, shown, said_by)
        except BaseException:
            _stop(workers, shown)
            _pass_on(workers, shown, said_by)
            raise
        finally:
            shown.close()
        return list(dict.fromkeys(reason for worker in workers if (reason := worker.reason)))


@contextlib.contextmanager
def precompiling(store: Store, plan: Plan, packs: Sequence[Pack], workers: int) -> Iterator[None]:
    """Around training: a process compiles the graphs of packs that come after the workers' first packs.

    It starts only if a core is free and later packs need other graphs. packs: in the order that workers take them.
    """
    if cores() <= workers or not packs_to_precompile(plan, packs, workers):
        yield
        return
    words = ["--store", str(store.root), "--sweep", plan.sweep, "--workers", str(workers), "--parent", str(os.getpid())]
    process = _started("launch.work.precompile", words, subprocess.DEVNULL, subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()  # it has nothing to save
        process.wait()


def _started(module: str, words: Sequence[str], stdout: IO[bytes] | int, stderr: IO[bytes] | int) -> subprocess.Popen:
    """Starts one of our modules as a process that can import users' modules.

    Environment variables limit it to one thread, also in libraries that read them at import.
    """
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=CHECKOUT,
        env=os.environ | threads | for_children() | {"PYTHONIOENCODING": "utf-8:backslashreplace"},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        # A terminal's Ctrl-C must reach this process only. It then asks the workers to stop: a worker that is still
        # importing would answer Ctrl-C with a traceback.
        process_group=0,
    )


class _Worker:
    """A worker process, and the files that it writes into. A pipe would break if its reader died."""

    def __init__(
        self, store: Store, sweep: str, device: str, share: tuple[int, int], files: contextlib.ExitStack,
        only: Sequence[str],
    ) -> None:  # fmt: skip
        self.said: IO[bytes] = files.enter_context(tempfile.TemporaryFile())
        self.gave: IO[bytes] = files.enter_context(tempfile.TemporaryFile())
        self.read, self.device, self._met = 0, device, False
        words = ["--store", str(store.root), "--sweep", sweep, "--device", device]
        words += ["--cores", str(share[0]), "--sharing", str(share[1])]
        words += ["--parent", str(os.getpid()), *(["--packs", *only] if only else [])]
        self.process = _started("launch.work.worker", words, stdout=self.gave, stderr=self.said)

    def new_lines(self) -> list[str]:
        """The complete lines that the worker has written to stderr since the last call."""
        # os.pread does not move the file offset, which the worker shares.
        new = os.pread(self.said.fileno(), 1 << 20, self.read)
        if self.process.poll() is None:
            new = new[: new.rfind(b"\n") + 1]
        self.read += len(new)
        return new.decode(errors="replace").splitlines()

    def was_killed(self) -> bool:
        """Whether SIGKILL ended the worker; True only at the first call after that."""
        met, self._met = self._met, self.process.poll() == -signal.SIGKILL
        return self._met and not met

    @property
    def reason(self) -> str:
        """The reason why the worker ended early; empty if it did not, or if it has shown a traceback."""
        status = self.process.poll()
        if status is not None and status < 0:
            often = ", as happens where memory runs out" if status == -signal.SIGKILL else ""
            return f"A worker was ended by {signal.Signals(-status).name}{often}."
        return os.pread(self.gave.fileno(), 1 << 20, 0).decode(errors="replace").strip()


class Killed:
    """Detects that SIGKILL ended several workers in turn on the same pack, because the pack is too large for memory.

    A killed worker cannot report that, but the command that started the worker sees it. The first killed worker is not
    replaced: a user may have killed it.
    """

    def __init__(self, store: Store, lease_seconds: float) -> None:
        self.store, self.seconds, self.again = store, lease_seconds, False

    def calls_for_another(self, pid: int) -> str:
        """The reason why a new worker must replace a killed one; empty if not needed, or if the store does not answer.

        The new worker counts the holders that vanished, and divides the pack.
        """
        try:
            held = self._held_by(pid)
            times = 0 if held is None else self._times(*held)
        except StoreError:
            return ""
        if held is None or (times < DIVIDED_AFTER and not self.again):
            return ""
        self.again = True
        limit = limited_memory()
        limited = f" (here all processes together may use {in_bytes(limit)})" if limit is not None else ""
        workers = "1 worker was" if times == 1 else f"{times} workers in turn were"
        ended = f"{workers} ended by SIGKILL on pack {held[0]}, as happens where memory runs out{limited}"
        return f"{ended}: another begins."

    def _held_by(self, pid: int) -> tuple[str, int] | None:
        """The pack that a process of this machine held, and the epoch of its lease."""
        files, here = LeaseFiles(self.store), this_owner().host
        for pack, epoch in files.epochs().items():
            owner = files.owner(pack, epoch)
            if owner is not None and (owner.host, owner.pid) == (here, pid):
                return pack, epoch
        return None

    def _times(self, pack: str, epoch: int) -> int:
        """The number of successive holders of a pack that have vanished since its last checkpoint."""
        me = this_owner()
        following = Lease(self.store, pack, epoch + 1, me)
        return Leases(self.store, self.seconds, me).vanished(following, latest_epoch(self.store, pack))[0]


def _pass_on(workers: Sequence[_Worker], shown: Display, said_by: dict[str, _Worker]) -> None:
    """Shows each line only from the first worker that prints it: with a broken installation all print one traceback.

    said_by: line → the first worker that printed it.
    """
    for worker in workers:
        for line in worker.new_lines():
            if said_by.setdefault(line, worker) is worker:
                shown.say(line)


def _stop(workers: Sequence[_Worker], shown: Display) -> None:
    """Asks all workers to stop, waits for their checkpoints, and kills late workers; a second Ctrl-C kills at once."""
    processes = [worker.process for worker in workers if worker.process.poll() is None]
    try:
        for process in processes:
            process.terminate()
        if processes:
            shown.say("Stopping: the workers write their checkpoints. Ctrl-C again ends them at once.")
        deadline = time.monotonic() + NOTICE_SECONDS
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()


@contextlib.contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Inside this context, SIGTERM raises KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
