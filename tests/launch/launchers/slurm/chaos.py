"""A sweep on the one-machine Slurm that is disturbed all the time, and what has become of each of its runs.

    make chaos MINUTES=60        which is, on the Slurm of `make slurm-up`:
    python -m tests.launch.launchers.slurm.chaos --minutes 60 --seed 0 --out chaos_results

Workers are killed, preempted (with and without a grace time), requeued, stopped for longer than their lease and cut by
their time limit, and nodes lost while their jobs live on, in an order drawn from the seed. Afterwards what is left is
trained, after one `resume` if no worker is left. Beside it the local launcher trains the same sweep undisturbed. Every
run must have been finished once, with the same numbers.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from launch.launchers.slurm import cluster
from launch.packs.progress import Watch
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.record import FINISHED, read_record
from plasticity_lab.records.store import Store
from tests.helpers.slurm_jobs import CONFIGURATION, jobs_of, log_of, order, resume_drained, submitted
from tests.helpers.sweeps import PATIENCE, Kept, command, ended_packs, kept, runs_of, wait_until
from tests.launch.launchers.slurm.acts import Acts

SWEEP = ("activation=glob(*)", "seed=0,1,2")
LEASE_SECONDS = 10.0
WORDS = (f"launch.lease_seconds={LEASE_SECONDS}", "checkpoint_minutes=0.1")
AT_ONCE = 3
"""Workers that a node takes at once: the others wait, and step in for those that were killed."""
LOOK_SECONDS = 0.5
ASK_SECONDS = 10.0
LOGGED = {
    "starts": r"Worker of sweep \w+ in job",
    "time_limits": "Back into the queue",
    "taken_over": r"Pack \w+ was taken over",
    "ghosts": "has been started anew elsewhere",
}
"""What workers say of themselves: the last, that their node was taken for lost while they lived."""


@dataclass(frozen=True)
class Chaos:
    """How long and how hard.

    minutes: of disturbance, unless the sweep ends before. every: seconds between two acts on average. tasks: of each
    run. workers: as many packs or more, and so many jobs. limit: a job's time in minutes, of which the first minute or
    two count, since Slurm may announce the end so early. seed: of the order.
    """

    minutes: float
    every: float
    tasks: int
    workers: int
    limit: int
    seed: int

    @property
    def words(self) -> tuple[str, ...]:
        """The sweep."""
        return (*SWEEP, *WORDS, f"benchmark.tasks={self.tasks}")


class Sweep:
    """A sweep on Slurm: whether it is over, and who is left to train it."""

    def __init__(self, store: Store) -> None:
        (sweep,) = (path.name for path in (store.root / "sweeps").iterdir())
        self.store, self.watch = store, Watch(store, read_plan(store, sweep).packs)
        self._asked, self._moved, self._steps = -np.inf, time.monotonic(), -1

    def ended(self) -> bool:
        """Whether all packs have.  AssertionError if nothing has moved for long, with what the workers said."""
        steps = self.watch.look().run_steps_done
        if steps != self._steps:
            self._steps, self._moved = steps, time.monotonic()
        assert time.monotonic() - self._moved < PATIENCE, f"nothing moves: {order('squeue')}\n{log_of(self.store)}"
        return len(self.watch.ended) == len(self.watch.packs)

    def abandoned(self) -> bool:
        """Whether no job of it is left; Slurm is asked now and then only, and its drained nodes put back to use."""
        if time.monotonic() - self._asked < ASK_SECONDS:
            return False
        self._asked = time.monotonic()
        resume_drained()
        return not cluster.living(jobs_of(self.store))

    def wait(self) -> bool:
        """Until it has ended, or nobody is left.  Returns whether it has ended well."""
        while not self.ended() and not self.abandoned():
            time.sleep(LOOK_SECONDS)
        return self.ended() and not any(ending.failed for ending in self.watch.ended.values())


def disturbed(store: Store, chaos: Chaos) -> dict[str, Any]:
    """Submits the sweep, disturbs it, and waits for its end.  Returns the figures of it."""
    began = time.monotonic()
    _submit(store, chaos)
    sweep = Sweep(store)
    draw = np.random.default_rng(chaos.seed)
    acts = Acts(store, LEASE_SECONDS, draw)
    end, due = time.monotonic() + 60 * chaos.minutes, 0.0
    try:
        while time.monotonic() < end and not sweep.ended() and not sweep.abandoned():
            acts.undo()
            if time.monotonic() > due and acts.act():
                due = time.monotonic() + draw.exponential(chaos.every)
            time.sleep(LOOK_SECONDS)
    finally:
        acts.undo(everything=True)
    until = time.monotonic()
    resumes = 0
    if not sweep.wait():
        resumes = 1
        subprocess.run([sys.executable, "-m", "launch", "resume", "--store", str(store.root)], check=True)
        Sweep(store).wait()
    cluster.cancel(jobs_of(store))  # those that still wait to step in
    wait_until(lambda: not cluster.living(jobs_of(store)))
    return {
        "acts": dict(sorted(acts.done.items())),
        "slurm": _endings(jobs_of(store)),
        **{what: len(re.findall(said, log_of(store))) for what, said in LOGGED.items()},
        "packs": len(sweep.watch.packs),
        "resumes": resumes,
        "minutes_of_chaos": round((until - began) / 60, 2),
        "minutes": round((time.monotonic() - began) / 60, 2),
    }


def faults(store: Store, twin: Store, runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """lost, repeated and different → run → what is wrong with it; nothing of all that if all is well."""
    found: dict[str, dict[str, str]] = {"lost": {}, "repeated": {}, "different": {}}
    times = Counter(run for pack in ended_packs(store) if pack["status"] == "done" for run in pack["runs"])
    for run in (run.id for run in runs):
        record = read_record(store, run)
        if record is None or record["status"] not in FINISHED or not times[run]:
            status = "no record" if record is None else f"its record says {record['status']}: {record['error']}"
            found["lost"][run] = f"{status}; finished in {times[run]} packs"
            continue
        if times[run] > 1:
            found["repeated"][run] = f"finished in {times[run]} packs"
        ours, theirs = kept(store, run), kept(twin, run)
        if ours != theirs:
            found["different"][run] = _differences(ours, theirs)
    return found


def run(folder: Path, chaos: Chaos) -> dict[str, Any]:
    """All of it, in the folder's stores `disturbed` and `undisturbed`.  Returns the report."""
    store, twin = Store(folder / "disturbed"), Store(folder / "undisturbed")
    with command(twin, *chaos.words) as process:
        figures = disturbed(store, chaos)
        err = process.communicate()[1]
        assert process.returncode == 0, err
    runs = runs_of(*chaos.words)
    return {
        "chaos": vars(chaos),
        "provenance": provenance() | {"slurm": order("sinfo", "--version").strip()},
        "runs": len(runs),
        **figures,
        **faults(store, twin, runs),
        "left_behind": sorted(path.name for path in (store.root / "packs").iterdir()),
    }


def _submit(store: Store, chaos: Chaos) -> None:
    """Half of the workers in each of the two preemptible partitions."""
    cores = int(order("sinfo", "--noheader", "--partition=cpu", "--format=%c").split()[0])
    options = (
        f"launch.workers={chaos.workers}",
        f"hydra.launcher.cpus_per_task={cores // AT_ONCE}",
        f"hydra.launcher.timeout_min={chaos.limit}",
        "hydra.launcher.signal_delay_s=58",
    )
    half = f"hydra.launcher.array_parallelism={chaos.workers // 2}"
    submitted(store, *chaos.words, *options, "hydra.launcher.partition=preempt", half)
    submitted(store, *chaos.words, *options, "hydra.launcher.partition=preempt_grace")


def _endings(jobs: Sequence[str]) -> dict[str, int]:
    """How Slurm says that starts of the jobs have ended against their will."""
    asked = ("--allocations", "--duplicates", "--noheader", "--format=State%20", f"--jobs={','.join(jobs)}")
    states = Counter(line.split()[0] for line in order("sacct", *asked).splitlines())
    return {state: states[state] for state in ("PREEMPTED", "REQUEUED", "NODE_FAIL", "FAILED", "TIMEOUT")}


def _differences(ours: Kept, theirs: Kept) -> str:
    """In words, where two runs that should be the same part ways."""
    words = [] if ours.status == theirs.status else [f"{ours.status}, undisturbed {theirs.status}"]
    for name, value in ours.summary.items():
        if value != theirs.summary.get(name):
            words.append(f"{name} is {value}, undisturbed {theirs.summary.get(name)}")
    if ours.metrics != theirs.metrics:
        rows, others = (list(zip(*json.loads(run.metrics), strict=True)) for run in (ours, theirs))
        same = sum(1 for _ in takewhile(lambda pair: str(pair[0]) == str(pair[1]), zip(rows, others, strict=False)))
        words.append(f"metrics agree in their first {same} rows of {len(rows)}, undisturbed {len(others)}")
    return "; ".join(words) or "weights"


def main() -> int:
    """The command.  Returns its exit status: 1 if a run was lost, repeated or different."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.launch.launchers.slurm.chaos", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=20, help="seconds between two acts, on average")
    parser.add_argument("--tasks", type=int, help="of each run; by default what two free cores train in those minutes")
    parser.add_argument("--workers", type=int, default=40)
    parser.add_argument("--limit", type=int, default=6, help="the jobs' time limit in minutes")
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    parser.add_argument("--out", type=Path, default=Path("chaos_results"))
    options = vars(parser.parse_args())
    folder = options.pop("out").absolute()
    tasks = options.pop("tasks") or max(1, int(8 * options["minutes"]))
    os.environ.setdefault("SLURM_CONF", str(CONFIGURATION))
    report = run(folder, Chaos(tasks=tasks, **options))
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))
    return 1 if any(report[fault] for fault in ("lost", "repeated", "different")) else 0


if __name__ == "__main__":
    sys.exit(main())
