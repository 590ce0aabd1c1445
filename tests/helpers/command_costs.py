"""The CPU time of commands that a user waits for: `python -m tests.helpers.command_costs FOLDER [RECORDS]`.

Each line is the best of three processes on one core: seconds of CPU (user and system), and the most memory it held.
Nothing is trained: the records are made, as `many_records` makes them, and stay in FOLDER (1.5 GB of 50,000). To
compare two commits, run it in turns in a clone of each, on a machine that does nothing else.
"""

import os
import subprocess
import sys
from pathlib import Path

from launch.command import resolve
from tests.helpers.many_records import many_records
from tests.helpers.stores import left_behind

FEW = ("activation=relu,leaky_relu", "seed=0,1,2", "schedule=smoke", "device=cpu")
SEEDS = {"10,013": 527, "100,016": 5264}
"""Runs → the seeds of 19 activations each."""
REPEATS = 3


def best(what: str, *arguments: str, repeats: int = REPEATS) -> None:
    """Runs a Python process several times and prints what the cheapest one took."""
    taken = []
    for _ in range(repeats):
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: os.sched_setaffinity(0, [max(os.sched_getaffinity(0))]),
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{what}: status {os.waitstatus_to_exitcode(status)}")
        taken.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    seconds, memory = min(taken)
    print(f"{what:40} {seconds:6.2f} s CPU {memory:6.0f} MiB", flush=True)


def main(folder: str, records: str = "10000") -> None:
    """Prints a line for each command."""
    few, many = Path(folder, "few"), Path(folder, f"made_{records}")
    train = ("-m", "plasticity_lab.main")
    if not few.exists():
        left_behind(few, FEW, lambda science: 0.5 + 0.01 * science["seed"])
    if not many.exists():
        many_records(many, int(records))
    run = resolve([*FEW, f"store='{few}'"]).runs[0].id
    best("--help", *train, "--help")
    best("launch status", "-m", "launch", "status", "--store", str(few))
    best("launch show", "-m", "launch", "show", run, "--store", str(few))
    best("a command whose runs are finished", *train, *FEW, f"store='{few}'")
    best("analysis table", "-m", "analysis", "table", "--store", str(few))
    for runs, seeds in SEEDS.items():
        words = (
            "activation=glob(*,exclude=[aid,hadamard])",
            f"seed=range(0,{seeds})",
            "device=cpu",
            "dry_run=true",
            f"store='{folder}/none'",
        )
        best(f"plan of {runs} runs", *train, *words, repeats=1)
    best(f"load of {records} records", "-c", f"from analysis import load; load('{many}')", repeats=1)
    report = ("-m", "analysis", "report", "--store", str(many), "--out", f"{folder}/report.html")
    best(f"report of {records} records", *report, repeats=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
