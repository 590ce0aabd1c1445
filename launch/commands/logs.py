"""Show what the workers of a sweep on Slurm have said last, each under its job, its node and how it stands.

    python -m launch logs                   those of the newest sweep
    python -m launch logs 1a2b              the worker, or the workers, that trained one run
    python -m launch logs --sweep 3f2a --lines 100 --all

The workers that ended badly come last, and before them those that wrote last. Local workers leave no logs: what they
say is shown where their command was given.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

from launch.launchers.slurm.cluster import SlurmError
from launch.launchers.slurm.job_state import JobState, states_of
from launch.launchers.slurm.jobs_file import Jobs, read_jobs
from launch.launchers.slurm.logs import WorkerLog, logs_of
from launch.launchers.slurm.queue import PATIENCE_SECONDS
from launch.packs.lease_files import LeaseFiles
from launch.packs.lookup import add_store, in_order, plans_to_read, runs_of, store_there, the_one
from launch.wording import counted, say, some
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.plan import sweeps_of
from plasticity_lab.records.record import pack_of, read_record
from plasticity_lab.records.store import Store

FEW = 5
"""How many workers are shown, unless --all."""
LINES = 10
ELSEWHERE = "what a local worker says is shown where its command was given; `python -m launch status` tells more"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    about = parser.add_mutually_exclusive_group()
    about.add_argument("named", metavar="run", nargs="?", help="a run's id, or its beginning; the newest sweep without")
    about.add_argument("--sweep", help="a sweep's id, or its beginning")
    add_store(parser)
    parser.add_argument("--lines", type=int, default=LINES, help=f"how many of each worker ({LINES})")
    parser.add_argument("--all", action="store_true", help=f"all workers, not only {FEW}")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises StoreError; ConfigError for --lines below 1."""
    if options.lines < 1:
        raise ConfigError(f"--lines is {options.lines}; it must be at least 1.")
    store = store_there(options.store)
    logs = _of_run(store, options.named) if options.named is not None else _of_sweep(store, options.sweep)
    states = _states(logs)
    spoken = [log for log in logs if log.changed]
    spoken.sort(key=lambda log: (log.job in states and states[log.job].ended_early, log.changed))
    shown = spoken if options.all else spoken[-FEW:]
    for line in _silent(logs, states):
        print(line)
    if len(shown) < len(spoken):
        print(f"==> {counted(len(spoken) - len(shown), 'more log')}; --all shows every one")
    for log in shown:
        print(_heading(log, states.get(log.job)))
        print("\n".join(log.last_lines(options.lines)))
    return 0


def _of_sweep(store: Store, start: str | None) -> list[WorkerLog]:
    """The logs of a sweep, by the beginning of its id, or of the newest."""
    known = in_order(store)
    if not known:
        raise StoreError(f"{store.root} holds no sweep.")
    sweep = known[-1] if start is None else the_one(start, known, "sweep", store)
    jobs = read_jobs(store, sweep)
    if jobs is None:
        raise StoreError(f"Sweep {sweep} was not given to Slurm: {ELSEWHERE}.")
    if not jobs.jobs:
        raise StoreError(f"No job was submitted for sweep {sweep}; `python -m launch resume {sweep}` does it.")
    return logs_of(store, sweep, jobs)


def _of_run(store: Store, start: str) -> list[WorkerLog]:
    """The logs of the workers that had a run's pack; if it has ended, of the worker that ended it."""
    plans = plans_to_read(store)
    run = the_one(start, runs_of(store, plans), "run", store)
    record = read_record(store, run)
    packs = {pack.id for plan in plans for pack in plan.packs if run in pack.runs}
    packs |= {pack} if record is not None and (pack := pack_of(record)) else set()
    leases = LeaseFiles(store)
    owners = [owner for pack in sorted(packs) for owner in leases.owners(pack)]
    if not owners:
        raise StoreError(f"Run {run} waits: no worker has begun it.")
    names = {owner.job_name for owner in owners} - {None}
    if not names:
        raise StoreError(f"Run {run} was trained by {owners[-1]}: {ELSEWHERE}.")
    submitted = {sweep: _jobs_of(store, sweep) for sweep in sweeps_of(store)}
    logs = [
        log
        for sweep, jobs in submitted.items()
        if jobs is not None
        for log in logs_of(store, sweep, jobs)
        if log.job in names
    ]
    if not logs:
        raise StoreError(f"Run {run} was trained by {owners[-1]}, of which this store has no log.")
    return logs


def _jobs_of(store: Store, sweep: str) -> Jobs | None:
    """The jobs of a sweep; None, and a line on stderr, where the file of them is damaged."""
    try:
        return read_jobs(store, sweep)
    except DamagedFile as error:
        say(str(error))
        return None


def _states(logs: Sequence[WorkerLog]) -> Mapping[str, JobState]:
    """How the workers' jobs stand; nothing, and a line on stderr, where Slurm does not answer."""
    try:
        states, gap = states_of({log.job.partition("_")[0] for log in logs}, PATIENCE_SECONDS)
    except SlurmError as error:
        states, gap = {}, str(error)
    if gap:
        print(f"How the jobs stand, or ended, cannot be told: {gap}", file=sys.stderr)
    return states


def _silent(logs: Sequence[WorkerLog], states: Mapping[str, JobState]) -> list[str]:
    """The jobs that have no log yet, or will never have one: a line for those in the same state."""
    spoken = {log.job for log in logs if log.changed}
    alike = defaultdict(list)
    for job in dict.fromkeys(log.job for log in logs if log.job not in spoken):
        alike[str(states.get(job, ""))].append(job)
    return [f"==> no log yet, job {some(jobs)}{state and ': '}{state}" for state, jobs in alike.items()]


def _heading(log: WorkerLog, state: JobState | None) -> str:
    node = f" on {state.nodes}" if state is not None and state.nodes else ""
    return f"==> job {log.job}{node}{'' if state is None else f' {state}'}; {log.path}"
