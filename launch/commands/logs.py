"""Show the last output of a sweep's workers on Slurm, each under its job, its node and the job's state.

    python -m launch logs                   the workers of the newest sweep
    python -m launch logs 1a2b              the worker, or the workers, that trained one run
    python -m launch logs --sweep 3f2a --lines 100 --all

The workers that ended badly come last; the other workers come before them, sorted by the time of their last line. Local
workers leave no logs: their output is shown in the terminal of their command.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from submitit.core.utils import JobPaths

from launch.launchers.slurm.cluster import JobState, SlurmError, this_cluster
from launch.launchers.slurm.own_jobs import PATIENCE_SECONDS, Submitted, states_of_sweeps
from launch.launchers.slurm.parameters import workers_a_job
from launch.packs.lease_files import LeaseFiles
from launch.packs.lookup import add_store, in_order, plans_to_read, runs_of, store_there, the_one
from launch.packs.submissions import Submission, submissions_of
from launch.wording import counted, say, some
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.files import read
from plasticity_lab.records.plan import sweeps_of
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import pack_of
from plasticity_lab.records.store import Store

FEW = 5
"""How many workers are shown, unless --all."""
LINES = 10
ELSEWHERE = "a local worker writes into the terminal of its command; `python -m launch status` shows more"


@dataclass(frozen=True)
class WorkerLog:
    """One file of a worker. job: 12, or 12_3 in an array. changed: the time of the last write, seconds; 0: not yet."""

    job: str
    path: Path
    changed: float

    def last_lines(self, count: int) -> list[str]:
        """The last lines, over all starts of the job.  Raises StoreError."""
        return (read(self.path) or b"").decode(errors="replace").splitlines()[-count:]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("named", metavar="run", nargs="?", help="a run's id or its beginning; the newest sweep without")
    parser.add_argument("--sweep", help="a sweep's id, or its beginning; not together with a run")
    add_store(parser)
    parser.add_argument("--lines", type=int, default=LINES, help=f"how many of each worker ({LINES})")
    parser.add_argument("--all", action="store_true", help=f"all workers, not only {FEW}")


def run(options: argparse.Namespace) -> None:
    """The command.  Raises StoreError; ConfigError for --lines below 1, or both a run and --sweep."""
    if options.named is not None and options.sweep is not None:
        raise ConfigError(f"Name a run ({options.named}) or a sweep (--sweep {options.sweep}), not both.")
    if options.lines < 1:
        raise ConfigError(f"--lines is {options.lines}; it must be at least 1.")
    store = store_there(options.store)
    logs, submitted = _of_run(store, options.named) if options.named is not None else _of_sweep(store, options.sweep)
    states = _states(store, submitted)
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


def _of_sweep(store: Store, start: str | None) -> tuple[list[WorkerLog], Submitted]:
    """The logs of a sweep, by the beginning of its id, or of the newest sweep, and their submissions."""
    known = in_order(store)
    if not known:
        raise StoreError(f"{store.root} holds no sweep.")
    sweep = known[-1] if start is None else the_one(start, known, "sweep", store)
    submissions = _submissions(store, sweep)
    if not submissions:
        raise StoreError(f"Sweep {sweep} was not given to Slurm: {ELSEWHERE}.")
    if not any(submission.job for submission in submissions):
        raise StoreError(f"No job was submitted for sweep {sweep}; `python -m launch resume {sweep}` does it.")
    return logs_of(submissions), {sweep: submissions}


def _of_run(store: Store, start: str) -> tuple[list[WorkerLog], Submitted]:
    """The logs of the workers that had a run's pack, or of the worker that ended it, and their submissions."""
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
    submitted = {sweep: _submissions(store, sweep) for sweep in sweeps_of(store)}
    logs = {sweep: [log for log in logs_of(several) if log.job in names] for sweep, several in submitted.items()}
    if not any(logs.values()):
        raise StoreError(f"Run {run} was trained by {owners[-1]}; this store has no log of that worker.")
    all_logs = [log for several in logs.values() for log in several]
    return all_logs, {sweep: submitted[sweep] for sweep in logs if logs[sweep]}


def _submissions(store: Store, sweep: str) -> list[Submission]:
    """The submissions of a sweep; prints a line on stderr for each unreadable file."""
    unreadable: list[StoreError] = []
    submissions = submissions_of(store, sweep, unreadable)
    say(*unreadable)
    return submissions


def _states(store: Store, submitted: Submitted) -> Mapping[str, JobState]:
    """The states of the workers' jobs; empty, with a line on stderr, if Slurm does not answer."""
    try:
        by_sweep, gap = states_of_sweeps(store, submitted, this_cluster(PATIENCE_SECONDS), PATIENCE_SECONDS)
    except SlurmError as error:
        by_sweep, gap = {}, str(error)
    if gap:
        say(f"The states of the jobs are unknown: {gap}")
    return {name: state for states in by_sweep.values() for name, state in states.items()}


def _silent(logs: Sequence[WorkerLog], states: Mapping[str, JobState]) -> list[str]:
    """A line for each state of jobs that have no log yet, or will never have one."""
    spoken = {log.job for log in logs if log.changed}
    silent = defaultdict(list)
    for job in dict.fromkeys(log.job for log in logs if log.job not in spoken):
        silent[str(states.get(job, ""))].append(job)
    return [f"==> no log yet, job {some(jobs)}{state and ': '}{state}" for state, jobs in silent.items()]


def _heading(log: WorkerLog, state: JobState | None) -> str:
    node = f" on {state.nodes}" if state is not None and state.nodes else ""
    return f"==> job {log.job}{node}{'' if state is None else f' {state}'}; {log.path}"


def logs_of(submissions: Iterable[Submission]) -> list[WorkerLog]:
    """The files of all workers that were ever submitted for a sweep, existing or not."""
    logs = list[WorkerLog]()
    for asked in submissions:
        if asked.outcome is None or asked.outcome.job is None:
            continue
        job, count = asked.outcome.job, asked.outcome.jobs
        for name in [job] if count == 1 else [f"{job}_{task}" for task in range(count)]:
            for rank in range(workers_a_job(asked.launcher)):
                paths = JobPaths(asked.folder, name, rank)
                apart = [] if asked.launcher["stderr_to_stdout"] else [paths.stderr]
                logs += [WorkerLog(name, path, _changed(path)) for path in [paths.stdout, *apart]]
    return logs


def _changed(path: Path) -> float:
    try:
        about = path.stat()
    except FileNotFoundError:
        return 0.0
    return about.st_mtime if about.st_size else 0.0
