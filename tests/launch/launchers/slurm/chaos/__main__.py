"""A sweep on the one-machine Slurm that is disturbed all the time, and what has become of each of its runs.

    make chaos MINUTES=60        which is, on the Slurm of `make slurm-up`:
    python -m tests.launch.launchers.slurm.chaos --minutes 60 --seed 0 --out chaos_results

Workers are killed, frozen, requeued, held and cancelled; nodes lost and drained, slurmctld killed; the store is full or
read-only; clocks are ten minutes off; commands are given twice at once, killed and cancelled: in an order drawn from
the seed. Afterwards the command is given until nothing is left. Beside it the local launcher trains the same sweep
undisturbed. Every run must have been finished once, with the same numbers, and what was cancelled must have stopped.
"""

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from launch.launchers.display import Watch
from launch.launchers.slurm import cluster
from launch.launchers.slurm.cluster import QUEUE_COLUMNS, JobState
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import FINISHED
from plasticity_lab.records.store import Store
from tests.helpers.slurm_jobs import configuration, log_of, order, resume_drained
from tests.helpers.sweeps import PATIENCE, Kept, command, ended_packs, kept, runs_of, said, wait_until
from tests.launch.launchers.slurm.chaos.acts import ACTS, Deck, on_a_disk_of_its_own
from tests.launch.launchers.slurm.chaos.scene import Scene

SWEEP = ("activation=glob(*)", "seed=0,1,2")
LEASE_SECONDS = 10.0
WORDS = (f"launch.lease_seconds={LEASE_SECONDS}", "checkpoint_minutes=0.1")
AT_ONCE = 3
"""Workers that a node takes at once: the others wait, and step in for those that were killed."""
LOOK_SECONDS = 0.5
ASK_SECONDS = 10.0
WRONG_CLOCK = Path(__file__).parent / "wrong_clock"
CLOCKS = (0, 600, -600)
"""By how many seconds the clock of a third of the workers each is wrong."""
ATTEMPTS = 10
"""How often the command is given afterwards."""
LOGGED = {
    "starts": r"Worker of sweep \w+ in job",
    "time_limits": "Back into the queue",
    "taken_over": r"Pack \w+ was taken over",
    "started_elsewhere": "has been restarted elsewhere",
}
"""What workers say of themselves: the last, that their node was taken for lost while they lived."""


def any_lives(arrays: Collection[str]) -> bool:
    """Whether a job of the arrays waits or runs."""
    rows = cluster.queue(QUEUE_COLUMNS, f"--jobs={','.join(sorted(arrays))}") if arrays else []
    return any(JobState.reported(*row).lives for row in rows)


@dataclass(frozen=True)
class Chaos:
    """How long and how hard.

    minutes: of disturbance, unless the sweep ends before. every: seconds between two acts on average. tasks: of each
    run. workers: as many packs or more, and as many jobs. limit: a job's time in minutes, of which the first minute or
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
    """The runs of a sweep on Slurm: whether they have ended, and whether anybody is left to train them."""

    def __init__(self, scene: Scene, runs: Sequence[str]) -> None:
        self.scene, self.left = scene, set(runs)
        self._asked, self._moved, self._seen = -np.inf, time.monotonic(), -1

    def ended(self) -> bool:
        """Whether all have.  AssertionError if nothing has moved for long, with what the workers said."""
        store = self.scene.store
        for run in list(self.left):
            record = read_record(store, run)
            if record is not None and record["status"] in FINISHED:
                self.left.discard(run)
        steps = sum(Watch(store, read_plan(store, sweep).packs).look().run_steps_done for sweep in self.scene.sweeps())
        if steps != self._seen:
            self._seen, self._moved = steps, time.monotonic()
        waited = time.monotonic() - self._moved
        assert waited < PATIENCE, f"nothing moves: {order('squeue')}\n{log_of(store)}"
        return not self.left

    def abandoned(self) -> bool:
        """Whether no job of it is left; Slurm is asked now and then only, and its drained nodes put back to use."""
        if time.monotonic() - self._asked < ASK_SECONDS:
            return False
        self._asked = time.monotonic()
        resume_drained()
        return not any_lives(self.scene.arrays())

    def wait(self) -> bool:
        """Until it has ended, or nobody is left.  Returns whether it has ended."""
        while not self.ended() and not self.abandoned():
            self.scene.put_right()
            time.sleep(LOOK_SECONDS)
        return not self.left


def disturbed(store: Store, chaos: Chaos, acts: Sequence[str]) -> dict[str, Any]:
    """Submits the sweep, disturbs it, and waits for its end.  Returns the figures of it."""
    began = time.monotonic()
    words = _words(chaos)
    _submit(store, words)
    scene = Scene(
        store, (*words, "hydra.launcher.partition=preempt_grace"), LEASE_SECONDS, np.random.default_rng(chaos.seed)
    )
    sweep, deck = Sweep(scene, [run.id for run in runs_of(*chaos.words)]), Deck(scene, acts)
    end, due = time.monotonic() + 60 * chaos.minutes, 0.0
    try:
        while time.monotonic() < end and not sweep.ended():
            scene.put_right()
            if time.monotonic() > due and deck.act():
                due = time.monotonic() + scene.draw.exponential(chaos.every)
            time.sleep(LOOK_SECONDS)
    finally:
        scene.put_right(everything=True)
    until, again = time.monotonic(), 0
    while scene.children:
        scene.put_right(everything=True)
        time.sleep(LOOK_SECONDS)
    while not sweep.wait() and again < ATTEMPTS:
        again += 1
        said(store, *scene.words)
    cluster.cancel(scene.arrays())  # those that still wait to step in
    wait_until(lambda: not any_lives(scene.arrays()))
    return {
        "acts": dict(sorted(scene.done.items())),
        "acts_altogether": scene.done.total(),
        "clocks": CLOCKS,
        "slurm": _endings(scene.arrays()),
        **{what: len(re.findall(words, log_of(store))) for what, words in LOGGED.items()},
        "packs": len(ended_packs(store)),
        "given_again_afterwards": again,
        "disobedient": scene.disobeyed,
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


def run(folder: Path, chaos: Chaos, acts: Sequence[str] = tuple(ACTS)) -> dict[str, Any]:
    """All of it, in the folder's stores `disturbed` and `undisturbed`.  Returns the report.

    acts: the names of what is done; disks of our own need a right that not every machine gives.
    """
    store, twin = Store(folder / "disturbed"), Store(folder / "undisturbed")
    own_disk = bool({"full", "read_only"} & {*acts}) and on_a_disk_of_its_own(str(store.root))
    with command(twin, *chaos.words) as process:
        figures = disturbed(store, chaos, [name for name in acts if own_disk or name not in ("full", "read_only")])
        err = process.communicate()[1]
        assert process.returncode == 0, err
    runs = runs_of(*chaos.words)
    return {
        "chaos": vars(chaos),
        "provenance": provenance() | {"slurm": order("sinfo", "--version").strip()},
        "runs": len(runs),
        "own_disk": own_disk,
        **figures,
        **faults(store, twin, runs),
        "left_behind": sorted(path.name for path in (store.root / "packs").iterdir()),
    }


def _words(chaos: Chaos) -> tuple[str, ...]:
    """The command, without its partition."""
    cores = int(order("sinfo", "--noheader", "--partition=cpu", "--format=%c").split()[0])
    return (
        "hydra/launcher=packed_slurm",
        *chaos.words,
        f"launch.workers={chaos.workers}",
        f"hydra.launcher.cpus_per_task={cores // AT_ONCE}",
        f"hydra.launcher.timeout_min={chaos.limit}",
        "hydra.launcher.signal_delay_s=58",
    )


def _submit(store: Store, words: Sequence[str]) -> None:
    """Workers in both preemptible partitions, two thirds of them with wrong clocks."""
    total = int(next(word for word in words if word.startswith("launch.workers=")).partition("=")[2])
    for at, (clock, partition) in enumerate(zip(CLOCKS, ("preempt", "preempt_grace", "preempt"), strict=True)):
        more = (f"launch.workers={(at + 1) * total // len(CLOCKS)}", f"hydra.launcher.partition={partition}")
        status, err = said(store, *words, *more, PYTHONPATH=str(WRONG_CLOCK), CLOCK_IS_OFF=str(clock))
        assert status == 0, err


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
    """The command.  Returns its exit status: 1 if a run was lost, repeated or different, or a worker disobeyed."""
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
    os.environ.setdefault("SLURM_CONF", str(configuration()))
    report = run(folder, Chaos(tasks=tasks, **options))
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))
    return 1 if any(report[fault] for fault in ("lost", "repeated", "different", "disobedient")) else 0


if __name__ == "__main__":
    sys.exit(main())
