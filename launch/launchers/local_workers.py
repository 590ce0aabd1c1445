"""The workers of one machine as processes: started, watched, and stopped together."""

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

from launch.launchers.display import Display, display
from launch.launchers.killed import Killed
from launch.launchers.precompiler import precompiling
from launch.packs.watch import Watch
from launch.plan.device import cores
from launch.work.stop_signal import NOTICE_SECONDS
from plasticity_lab.process.import_path import for_children
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store

LOOK_SECONDS = 0.5
CHECKOUT = Path(__file__).resolve().parents[2]


class Uploads:
    """How many runs the workers have written to W&B, as the store notes it pack by pack."""

    def __init__(self, store: Store, tracking: TrackingSettings) -> None:
        self._store, self._tracking = store, tracking
        self._complete = 0

    def words(self, packs: Sequence[Pack]) -> str:
        """«writing them to W&B: 12 of 57 runs».  packs: all have ended.  Raises StoreError."""
        if self._tracking.backend == "store":
            return "the workers are ending"
        from launch.tracking.wandb.marks import count_written, destination_of

        destination = destination_of(self._tracking)
        runs = sum(pack.width for pack in packs)
        if self._complete < runs:
            self._complete = count_written(self._store, [pack.id for pack in packs], destination)
        return f"writing them to W&B: {self._complete:,} of {runs:,} runs"


def run_workers(
    store: Store,
    plan: Plan,
    packs: Sequence[Pack],
    devices: Sequence[str],
    uploads: Uploads,
    lease_seconds: float,
    only: Sequence[str] = (),
) -> list[str]:
    """Starts a worker for each device named, and shows their progress and what they say until the last has ended.

    A worker that dies is not replaced: the others take its packs over. Where `Killed` says that memory ran out, one is.
    On Ctrl-C or SIGTERM the workers write checkpoints and end, then KeyboardInterrupt goes on; workers see when the
    process that started them is killed, and do the same. uploads: what workers do after the last pack. only: the ids of
    packs that they may train; none: all. Returns why workers ended early, each reason once.
    """
    watch, shown, killed = Watch(store, packs), display(), Killed(store, lease_seconds)
    with _interrupted_by_sigterm(), contextlib.ExitStack() as files:
        workers: list[_Worker] = []
        passed_on: dict[str, _Worker] = {}
        try:
            each = max(1, cores() // len(devices))
            for device in devices:
                workers.append(_Worker(store, plan.sweep, device, each, files, only))
            files.enter_context(precompiling(store, plan, packs, len(workers), _environment()))
            while True:
                _pass_on(workers, shown, passed_on)
                for worker in [worker for worker in workers if worker.was_killed()]:
                    if why := killed.calls_for_another(worker.process.pid):
                        shown.say(why)
                        workers.append(_Worker(store, plan.sweep, worker.device, each, files, only))
                if all(worker.process.poll() is not None for worker in workers):
                    break
                with contextlib.suppress(StoreFault):  # the workers wait until it works again, and say so
                    now = watch.look()
                    shown.show(now, uploads.words(watch.packs) if watch.over else "")
                time.sleep(LOOK_SECONDS)
            _pass_on(workers, shown, passed_on)
        except BaseException:
            _stop(workers, shown)
            _pass_on(workers, shown, passed_on)
            raise
        finally:
            shown.close()
        return list(dict.fromkeys(reason for worker in workers if (reason := worker.reason)))


class _Worker:
    """A process, and the files it writes into: a pipe would break when its reader dies."""

    def __init__(
        self, store: Store, sweep: str, device: str, cores: int, files: contextlib.ExitStack, only: Sequence[str]
    ) -> None:
        self.said: IO[bytes] = files.enter_context(tempfile.TemporaryFile())
        self.gave: IO[bytes] = files.enter_context(tempfile.TemporaryFile())
        self.read, self.device, self._met = 0, device, False
        command = [sys.executable, "-m", "launch.work.worker", "--store", str(store.root), "--sweep", sweep]
        command += ["--device", device, "--cores", str(cores), "--parent", str(os.getpid())]
        self.process = subprocess.Popen(
            [*command, "--packs", *only] if only else command,
            cwd=CHECKOUT,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=self.gave,
            stderr=self.said,
            # A terminal's Ctrl-C is to reach this process only, which then asks the workers to stop: a worker that is
            # still importing could only answer with a traceback.
            process_group=0,
        )

    def new_lines(self) -> list[str]:
        """What it has said since the last time, in whole lines."""
        # Read without moving the place in the file, which is the worker's too.
        new = os.pread(self.said.fileno(), 1 << 20, self.read)
        if self.process.poll() is None:
            new = new[: new.rfind(b"\n") + 1]
        self.read += len(new)
        return new.decode(errors="replace").splitlines()

    def was_killed(self) -> bool:
        """Whether it was ended by SIGKILL; said once."""
        met, self._met = self._met, self.process.poll() == -signal.SIGKILL
        return self._met and not met

    @property
    def reason(self) -> str:
        """Why it ended early; nothing if it did not, or has shown a traceback."""
        status = self.process.poll()
        if status is not None and status < 0:
            often = ", as happens where memory runs out" if status == -signal.SIGKILL else ""
            return f"A worker was ended by {signal.Signals(-status).name}{often}."
        return os.pread(self.gave.fileno(), 1 << 20, 0).decode(errors="replace").strip()


def _pass_on(workers: Sequence[_Worker], shown: Display, passed_on: dict[str, _Worker]) -> None:
    """Shows what workers say. What several say, such as the traceback of a broken installation, is shown once."""
    for worker in workers:
        for line in worker.new_lines():
            if passed_on.setdefault(line, worker) is worker:
                shown.say(line)


def _environment() -> dict[str, str]:
    """One thread for each worker, also in libraries that read that at their start; options' modules stay importable."""
    ours = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **for_children()}
    return os.environ | ours | {"PYTHONIOENCODING": "utf-8:backslashreplace"}  # of what they say, which is read here


def _stop(workers: Sequence[_Worker], shown: Display) -> None:
    """Asks all to stop, waits for their checkpoints, and ends those that do not answer; all, after a second Ctrl-C."""
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
    """SIGTERM does what Ctrl-C does."""

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
