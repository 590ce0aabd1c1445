"""A sweep killed again and again, at moments drawn at random, and given again each time."""

import contextlib
import os
import signal
import time

import numpy as np
import pytest

from plasticity_lab.records.store import Store
from tests.helpers.sweeps import (
    PATIENCE,
    all_kept,
    command,
    ended_packs,
    planned,
    runs_of,
    said,
    trained,
    wait_until,
    workers_of,
)

IMPORTING_SECONDS = 4.0


def chaos(store, words, kills, training_seconds, draw):
    """Gives the command until that many SIGKILLs have hit it.  Returns how many did: fewer if it ended before.

    The victims are the launcher, a worker, or all at once; mostly they are hit while packs train, sometimes earlier.
    """
    hit = 0
    while hit < kills:
        with command(store, *words) as process:
            while hit < kills:
                began = time.time()
                victims = draw.choice(["launcher", "worker", "all"])
                if draw.random() < 0.2:
                    pause = draw.uniform(0, IMPORTING_SECONDS)
                else:
                    wait_until(lambda began=began: trains(store, began), process)
                    pause = draw.uniform(0, 0.5 * training_seconds / kills)
                time.sleep(pause)
                if process.poll() is not None:
                    break
                hit += kill(process.pid, victims, draw)
                if victims != "worker":
                    process.wait(PATIENCE)
                    wait_until(lambda process=process: not workers_of(process.pid))
                    break
            if process.poll() == 0:
                break
    return hit


def trains(store, since):
    """Whether a pack has come further, or ended, since that moment."""
    files = [*store.root.glob("packs/*/checkpoint.*"), *store.root.glob("done/*")]
    with contextlib.suppress(FileNotFoundError):
        return any(path.stat().st_mtime > since for path in files)
    return False


def kill(launcher, victims, draw):
    """SIGKILL.  Returns how many moments of killing it was: none if the worker meant was not there."""
    workers = workers_of(launcher)
    if victims == "worker":
        workers = [int(draw.choice(workers))] if workers else []
        numbers = workers
    else:
        numbers = [launcher, *(workers if victims == "all" else [])]
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    return int(bool(numbers))


WORDS = (
    *("activation=relu,prelu,rand_smooth_leaky", "intervention=none,l2_init", "seed=0,1,2"),
    *("benchmark.tasks=30", "launch.workers=2"),
)
KILLS = 20


@pytest.mark.slow
def test_a_sweep_killed_at_random_moments_ends_with_the_undisturbed_numbers(store, tmp_path):
    undisturbed = Store(tmp_path / "undisturbed")
    began = time.monotonic()
    trained(undisturbed, *WORDS)
    draw = np.random.default_rng(20260101)
    assert chaos(store, WORDS, KILLS, time.monotonic() - began, draw) == KILLS
    status, err = said(store, *WORDS)
    assert status == 0, err
    runs = runs_of(*WORDS)
    assert all_kept(store, runs) == all_kept(undisturbed, runs)
    ended = [run for pack in ended_packs(store) for run in pack["runs"]]
    assert sorted(ended) == sorted(run.id for run in runs), "each recorded once"
    assert planned(store, *WORDS).packs == []
    assert list((store.root / "packs").iterdir()) == []
