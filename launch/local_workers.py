"""The workers of one machine as processes: started, watched, and stopped together."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from launch.display import display
from launch.planner import Pack
from launch.progress import progress_of
from plasticity_lab.records.store import Store

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
"""How long workers may take over their last checkpoints after Ctrl-C."""
CHECKOUT = Path(__file__).resolve().parents[1]


def run_workers(store: Store, sweep: str, packs: Sequence[Pack], devices: Sequence[str]) -> None:
    """Starts a worker for each device named and shows their progress until the last has ended.

    A worker that dies is not replaced: its mates take its packs over. On Ctrl-C the workers write checkpoints and end,
    then KeyboardInterrupt goes on.
    """
    shown = display()
    with tempfile.TemporaryFile() as said:
        workers = [_start(store, sweep, device, said) for device in devices]
        try:
            while any(worker.poll() is None for worker in workers):
                shown.show(progress_of(store, packs))
                time.sleep(LOOK_SECONDS)
        except KeyboardInterrupt:
            _stop(workers)
            raise
        finally:
            shown.close()
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))


def _start(store: Store, sweep: str, device: str, said: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "launch.worker", "--store", str(store.root), "--sweep", sweep]
    command += ["--device", device, "--parent", str(os.getpid())]
    return subprocess.Popen(command, cwd=CHECKOUT, env=_environment(), stdin=subprocess.DEVNULL, stderr=said)


def _environment() -> dict[str, str]:
    """One thread a worker, also in libraries that read it only at their start; options' modules stay importable."""
    paths = [path for path in sys.path if path]
    return os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}


def _stop(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Asks all to stop (a terminal has asked them already), waits, and ends those that do not answer."""
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    deadline = time.monotonic() + PATIENCE_SECONDS
    for worker in workers:
        try:
            worker.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
