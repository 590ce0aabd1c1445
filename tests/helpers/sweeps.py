"""Sweeps as a user gives them: in this process, where workers need not import everything anew, or as commands."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from launch.command import resolve
from launch.launchers.local import Machine
from launch.launchers.prepare import prepared, put_in_order
from launch.runs.resolve import Resolved
from launch.work.worker import Worker
from plasticity_lab.records.plan import Plan, write_plan
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import read_weights

PATIENCE = 600.0
"""Seconds after which a test that waits surely waits for nothing, on a busy machine too."""
SMOKE = ("schedule=smoke", "device=cpu", "mode=eager", "tracking=store")
OFTEN = ("checkpoint_minutes=0.002", "launch.lease_seconds=2")


def said_last(*words: str) -> list[str]:
    """The words of a command, of those with one key the last."""
    return list({word.partition("=")[0]: word for word in words}.values())


@cache
def resolved(*words: str) -> Resolved:
    """What a command at the smoke schedule names."""
    return resolve(said_last(*SMOKE, *words))


def runs_of(*words: str) -> list[dict]:
    """The resolved runs that a command at the smoke schedule names."""
    return resolved(*words).runs


def planned(store: Store, *words: str) -> Plan:
    """The plan of what a command has left to do, written as the launcher writes it."""
    settings = resolved(*words).settings.model_copy(update={"store": store.root})
    store.prepare()
    ready = prepared(runs_of(*words), settings, Machine.of(settings).resources)
    put_in_order(ready)
    write_plan(store, ready.plan)
    return ready.plan


def never() -> bool:
    return False


def after_looks(looks: int) -> Callable[[], bool]:
    """A worker's `stop` that is true from the so-manieth time on."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > looks

    return stop


def work(store: Store, sweep: str, device: str, stop: Callable[[], bool], *terms, **how) -> bool:
    """Lets a worker train a sweep's packs here.  Returns whether all packs that it trained ended well."""
    return Worker(store, sweep, device, stop, *terms, **how).work()


def trained(store: Store, *words: str, stop: Callable[[], bool] = never) -> Plan:
    """Plans and trains here what a command has left to do."""
    plan = planned(store, *words)
    work(store, plan.sweep, "cpu", stop)
    return plan


@dataclass(frozen=True)
class Kept:
    """What a finished run left behind, save when and where."""

    status: str
    summary: dict
    metrics: bytes
    weights: dict[str, bytes] | None


def kept(store: Store, run: str) -> Kept:
    """A run's numbers, to the bit."""
    record, table, weights = read_record(store, run), read_metrics(store, run), read_weights(store, run)
    assert record is not None, f"{run} has no record"
    assert table is not None, f"{run} has no metrics"
    return Kept(
        record["status"],
        {name: value for name, value in record["summary"].items() if name != "seconds"},
        json.dumps([column.to_pylist() for column in table.columns]).encode(),
        None if weights is None else {name: value.numpy().tobytes() for name, value in weights.items()},
    )


def all_kept(store: Store, runs: list[dict]) -> dict[str, Kept]:
    """What all runs of a sweep left behind."""
    return {run.id: kept(store, run.id) for run in runs}


def ended_packs(store: Store) -> list[dict]:
    """What the packs that have ended say of themselves."""
    return [json.loads(path.read_text()) for path in sorted(store.done_folder.iterdir())]


@contextlib.contextmanager
def command(store: Store, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The command, started in a session of its own, as a terminal's would be; nothing of it is left at the end."""
    words = said_last(*SMOKE, *OFTEN, f"store={store.root}", *words)
    process = subprocess.Popen(
        [sys.executable, "-m", "plasticity_lab.main", *words],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for number in [process.pid, *workers_of(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.communicate()


def said(store: Store, *words: str, **environment: str) -> tuple[int, str]:
    """A command's exit status and what it wrote to stderr."""
    with command(store, *words, **environment) as process:
        err = process.communicate(timeout=PATIENCE)[1]
        return process.returncode, err


def workers_of(parent: int) -> list[int]:
    """The worker processes that a command has started and that are there, even where it is gone itself."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"launch.work.worker" in words and words[words.index(b"--parent") + 1] == str(parent).encode():
                found.append(int(folder.name))
    return sorted(found)


def wait_until(
    happened: Callable[[], bool], process: subprocess.Popen | None = None, explained: Callable[[], str] = str
) -> bool:
    """Waits for something; False if the process ended before it happened.  explained: what to say if it never does."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if process is not None and process.poll() is not None:
            return happened()
        assert time.monotonic() < deadline, f"it did not happen. {explained()}"
        time.sleep(0.02)
    return True
