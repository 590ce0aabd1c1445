"""What a sweep of 75,012 runs costs besides training: `python -m tests.helpers.large_sweep FOLDER [SEEDS]`.

Each line is one process: seconds by the clock, seconds of CPU, and the most memory it held. Nothing is trained: where
the sweep has ended its records are made (1.9 GB in FOLDER, which is left there).
"""

import os
import subprocess
import sys
import time
from pathlib import Path

WORDS = ("activation=glob(*,exclude=[aid,hadamard])", "schedule=smoke", "device=cpu")
ONE_MORE = ("seed=99999", *WORDS[1:])
USUAL_SEEDS = 3948
"""Of 19 activations."""


def measured(what: str, *arguments: str) -> None:
    """Runs a Python process and prints what it took."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    ended = "" if status == 0 else f"  FAILED with {os.waitstatus_to_exitcode(status)}"
    print(f"{what:44} {seconds:6.2f} s {cpu:6.2f} s CPU {usage.ru_maxrss / 1024:5.0f} MiB{ended}", flush=True)


def submit(words: list[str]) -> None:
    """What a command does until its workers start."""
    from launch.command import run_command
    from launch.launchers import local

    local.run_workers = lambda *_: []
    local.report = lambda *_: None
    sys.exit(run_command(words))


def start_worker(folder: str, sweep: str) -> None:
    """What a worker does until it has the runs of a pack."""
    from launch.plan.device import kind_of
    from launch.work import worker
    from plasticity_lab.records.plan import in_parts

    store = worker.Store(folder)
    plan = worker.read_plan(store, sweep)
    mine = [pack for pack in in_parts(store, plan.packs) if pack.kind == kind_of("cpu")]
    assert plan.runs_of(mine[0])


def leave_records(words: list[str]) -> None:
    """A record of each run that a command names, as `many_records` makes them."""
    from launch.command import resolve
    from plasticity_lab.records.classifier import CLASSIFIER
    from plasticity_lab.records.store import Store
    from tests.helpers.many_records import made_metrics, write_made

    found = resolve(words)
    metrics = made_metrics(CLASSIFIER, 0)
    for number, run in enumerate(found.runs):
        write_made(Store(found.settings.store), run, number, CLASSIFIER, metrics)


def main(folder: str, seeds: str = str(USUAL_SEEDS)) -> None:
    """Prints a line for each process."""
    here = ("-m", "tests.helpers.large_sweep")
    store = f"store='{folder}'"
    words = (*WORDS, f"seed=range(0,{seeds})", store)
    measured("torch is imported", "-c", "import torch")
    measured("a worker is imported", "-c", "import launch.work.worker")
    measured("submitted", *here, "submit", *words)
    (sweep,) = (path.name for path in (Path(folder) / "sweeps").iterdir())
    measured("a worker starts", *here, "start_worker", folder, sweep)
    measured("status, all waiting", "-m", "launch", "status", "--store", folder)
    subprocess.run([sys.executable, *here, "leave_records", *words], check=True)
    measured("status, all finished", "-m", "launch", "status", "--store", folder)
    measured("status once more", "-m", "launch", "status", "--store", folder)
    measured("one more run submitted", *here, "submit", *ONE_MORE, store)
    measured("the same in a new store", *here, "submit", *ONE_MORE, f"store='{folder}/new'")
    measured("the sweep's command given again", *here, "submit", *words)


if __name__ == "__main__":
    if sys.argv[1] == "submit":
        submit(sys.argv[2:])
    elif sys.argv[1] == "start_worker":
        start_worker(*sys.argv[2:])
    elif sys.argv[1] == "leave_records":
        leave_records(sys.argv[2:])
    else:
        main(*sys.argv[1:])
