"""Starts the process that compiles graphs ahead, where this machine has a core that no worker uses."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from launch.plan.device import cores
from launch.work.precompile import packs_to_precompile
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.store import Store

CHECKOUT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def precompiling(
    store: Store, plan: Plan, packs: Sequence[Pack], workers: int, environment: dict[str, str]
) -> Iterator[None]:
    """While this lasts, a process compiles what the packs behind the workers' first ones need.

    None where no core is free, or where they need no other graphs. packs: in the order in which workers take them.
    """
    if cores() <= workers or not packs_to_precompile(plan, packs, workers):
        yield
        return
    words = ["--store", str(store.root), "--sweep", plan.sweep, "--workers", str(workers), "--parent", str(os.getpid())]
    process = subprocess.Popen(
        [sys.executable, "-m", "launch.work.precompile", *words],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield
    finally:
        process.kill()  # it has nothing to save
        process.wait()
