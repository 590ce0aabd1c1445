"""Sweeps whose workers are processes on several kinds of CPU: torch's vector capability is set for each of them.

Who goes on with what is tested in tests/launch/work/test_other_kinds.py too, in one process under several names.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest

from launch.packs.begun_otherwise import written_binding
from launch.packs.endings import ending_of
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import OFTEN, all_kept, ended_packs, kept, runs_of, said_last, wait_until

WORDS = said_last(*OFTEN, "seed=0,1,2", "benchmark.tasks=16", "launch.workers=3")
HERE = """
import sys
from pathlib import Path
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import planned, trained
{"plan": planned, "train": trained}[sys.argv[1]](Store(Path(sys.argv[2])), *sys.argv[3:])
"""


def on(capability):
    """The environment of a process on such a CPU; None: on this one as it is."""
    return os.environ | ({} if capability is None else {"ATEN_CPU_CAPABILITY": capability})


def at_once(what, store, capability, *words):
    subprocess.run([sys.executable, "-c", HERE, what, str(store.root), *words], env=on(capability), check=True)


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Capability → what the runs of the sweep come to where nobody disturbs them."""
    found = {}

    def of(capability):
        if capability not in found:
            alone = Store(tmp_path_factory.mktemp(capability))
            at_once("train", alone, capability, *WORDS)
            found[capability] = all_kept(alone, runs_of(*WORDS))
        return found[capability]

    return of


@pytest.fixture
def worker(store):
    """Starts a worker on a CPU of such a capability; none is left at the end."""
    with contextlib.ExitStack() as running:

        def start(sweep, capability):
            words = ("--store", str(store.root), "--sweep", sweep, "--device", "cpu")
            process = subprocess.Popen([sys.executable, "-m", "launch.work.worker", *words], env=on(capability))
            running.callback(process.wait)
            running.callback(process.kill)
            return process

        yield start


def begun_on(store, capability):
    """The packs that have a checkpoint of a CPU of such a capability."""
    bound = {
        path.parent.name: written_binding(store, path.parent.name) for path in store.root.glob("packs/*/checkpoint.*")
    }
    return [pack for pack, binding in bound.items() if binding and binding.kind.startswith(f"cpu-{capability}-")]


def capability_of(store, run):
    """Of the CPU that its record names."""
    made = read_record(store, run)["provenance"]
    assert "parts" not in made, "nothing is mixed"
    return re.fullmatch(r"cpu-(\w+)-[0-9a-f]{6}", made["device"])[1]


@pytest.mark.slow
def test_each_run_is_one_kind_s_whoever_is_killed(store, worker, twins):
    """Planned on a third kind. One worker is killed and comes again; the other is killed and does not."""
    at_once("plan", store, None, *WORDS)
    (sweep,) = sweeps_of(store)
    first, second = worker(sweep, "avx2"), worker(sweep, "default")
    wait_until(lambda: begun_on(store, "avx2") and begun_on(store, "default"))
    for process in (first, second):
        process.send_signal(signal.SIGKILL)
        process.wait()
    (theirs,) = begun_on(store, "default")
    assert worker(sweep, "avx2").wait() == 0
    kept_here = {run: kept(store, run) for run in read_plan(store, sweep).asked}
    assert {run: twins(capability_of(store, run))[run] for run in kept_here} == kept_here
    assert Counter(each["status"] for each in ended_packs(store)) == {"done": 3, "replaced": 1}
    assert ending_of(store, theirs).status == "replaced"
    assert twins("avx2") != twins("default"), "else nothing was tested"
