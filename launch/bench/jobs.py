"""Tiny runs on a Slurm cluster: packed into few workers, compared with one job for each run.

    python -m launch.bench.jobs --partition cpu [--runs 2000] [--alone 100] [--out FOLDER]

Both are commands as a user gives them, timed from the command to its last record, in turns on the same partition: our
own launcher, and hydra-submitit-launcher's submitit_slurm, which starts a process for each run.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.bench.choices import parsed, parser_of, write_result
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.records.store import Store

TINY = ("schedule=smoke", "benchmark.tasks=1", "benchmark.steps=10", "device=cpu", "mode=eager", "tracking=store")
PACKED = ("hydra/launcher=packed_slurm", "launch.wait=true")
ALONE = ("hydra/launcher=submitit_slurm", "hydra.launcher.cpus_per_task=1")


def seconds_of(words: Sequence[str], runs: int, store: Store) -> float:
    """Seconds of a command that must leave `runs` new records.  Raises RuntimeError with its stderr if it does not."""
    began = time.monotonic()
    command = [sys.executable, "-m", "plasticity_lab.main", *words, f"store={store.root}"]
    ended = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - began
    records = len(list(store.runs_folder.glob("*/*/record.json")))
    if ended.returncode or records != runs:
        raise RuntimeError(f"{records} of {runs} runs were recorded: {ended.stderr}")
    return seconds


def main() -> None:
    """The command."""
    parser = parser_of("jobs", __doc__)
    parser.add_argument("--partition", default="cpu", help="the jobs' partition")
    parser.add_argument("--runs", type=int, default=2000, help="that are packed")
    parser.add_argument("--alone", type=int, default=100, help="that get a job each")
    options = parsed(parser, "jobs")
    result: dict[str, Any] = {"words": TINY}
    for name, runs, launcher in (("packed", options.runs, PACKED), ("alone", options.alone, ALONE)):
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # which the nodes see, too
            where = (f"hydra.launcher.partition={options.partition}", f"hydra.sweep.dir={folder}/sweep")
            words = (*TINY, *launcher, *where, f"seed=range(0,{runs})")
            seconds = seconds_of(words, runs, Store(Path(folder) / "store"))
        result[name] = {"runs": runs, "seconds": round(seconds, 2), "seconds_a_run": round(seconds / runs, 4)}
        print(f"{name}: {runs} runs in {seconds:.1f} s, {seconds / runs:.3f} s a run", flush=True)
    result["ratio"] = result["packed"]["seconds_a_run"] / result["alone"]["seconds_a_run"]
    print(f"Packed, a run takes 1/{1 / result['ratio']:.0f} of the time.")
    write_result(options.out, "jobs", result)


if __name__ == "__main__":
    leave(status_of(main))
