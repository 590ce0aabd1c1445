"""Stop a sweep on Slurm: its workers write checkpoints and end, and none is started again.

Finished runs are kept, and `python -m launch resume` continues the sweep. The exit status is 1 if jobs of the sweep may
still run or start; then give the command again.
"""

import argparse
import time
from collections.abc import Sequence

from launch.launchers.slurm import cluster
from launch.launchers.slurm.own_jobs import OwnJob, by_array, living, other_clusters, own_jobs
from launch.packs.lease_files import LeaseFiles, PackState
from launch.packs.lookup import add_sweep, store_there, sweep_named
from launch.packs.submissions import Submission, add_cancellation, not_on_slurm, submissions_of, was_on_slurm
from launch.wording import counted, say, some
from plasticity_lab.errors import StoreError
from plasticity_lab.process.account import user_name
from plasticity_lab.records.plan import Plan, read_plan
from plasticity_lab.records.store import Store

WAIT_SECONDS = 15.0
"""Wait for workers to write checkpoints and end."""
LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_sweep(parser)


def run(options: argparse.Namespace) -> int:
    """The command.  Returns 1 if jobs of the sweep may still run or start.  Raises StoreError, ConfigError."""
    store = store_there(options.store)
    plan = read_plan(store, sweep_named(store, options.sweep))
    unreadable: list[StoreError] = []
    submissions = submissions_of(store, plan.sweep, unreadable)
    say(*unreadable)
    cluster.check_there()
    known = bool(submissions or unreadable) or was_on_slurm(store, plan)
    if not known and not _in_queue(store, plan.sweep):
        raise not_on_slurm(plan)
    often = _flag(store, plan.sweep)
    try:
        jobs, left = _cancel(store, plan.sweep, submissions)
    except cluster.SlurmError as error:
        return _without_slurm(store, plan, submissions, often > 0, error)
    elsewhere = _elsewhere([asked for asked in submissions if asked.cancellations >= often - 1])
    faults = _of_others(left)
    say(*faults, *elsewhere, *_trained_by_others(store, plan, submissions))
    ended = f"{counted(len(jobs), 'job')} cancelled" if jobs else "no job of it was left"
    if left:
        names = some([f"{job.name} ({_state_of(job)})" for job in left])
        say(f"Sweep {plan.sweep}: {ended}; still there after {WAIT_SECONDS:.0f} seconds: {names}.")
        say(f"{_by_themselves(often > 0)} To check, give `python -m launch cancel {plan.sweep}` again.")
    else:
        say(f"Sweep {plan.sweep}: {ended}. `python -m launch resume {plan.sweep}` goes on.")
    return 1 if left or elsewhere or not often else 0


def _flag(store: Store, sweep: str) -> int:
    """Notes the cancellation in the store, before Slurm ends any worker, so that no worker comes back.

    Returns how often the sweep has been cancelled; 0, after a line on stderr, if the store cannot be written.
    """
    try:
        return add_cancellation(store, sweep)
    except StoreError as error:
        say(f"Workers cannot be asked to stop by the store, only by Slurm: {error}")
        return 0


def _in_queue(store: Store, sweep: str) -> bool:
    """Whether Slurm has jobs of the sweep that the store does not know."""
    try:
        return bool(own_jobs(store, {sweep: []}, PATIENCE_SECONDS)[sweep])
    except cluster.SlurmError as error:
        say(f"Whether there are jobs of the sweep is unknown: {error}")
        return False


def _cancel(store: Store, sweep: str, submissions: Sequence[Submission]) -> tuple[set[str], list[OwnJob]]:
    """Lets Slurm cancel this user's jobs of a sweep, and waits until they leave the queue.

    Returns the names of all jobs, and the jobs that have not left in time. It repeats the request, since a job that is
    being requeued can be cancelled only when it is back.  Raises SlurmError.
    """
    end, names = time.monotonic() + WAIT_SECONDS, set[str]()
    while left := own_jobs(store, {sweep: submissions}, PATIENCE_SECONDS)[sweep]:
        names |= {job.name for job in left}
        cluster.cancel(by_array(job for job in living(left) if job.user == user_name()))
        if time.monotonic() > end:
            break
        time.sleep(LOOK_SECONDS)
    return names, left


def _of_others(left: Sequence[OwnJob]) -> list[str]:
    """A line for each other user who still has jobs in the queue."""
    lines = []
    for user in sorted({job.user for job in left} - {user_name()}):
        theirs = by_array(job for job in left if job.user == user)
        jobs = f"{counted(theirs.total(), 'job')} of {user}'s ({some(theirs)})"
        lines.append(f"Only {user} can remove {jobs} from the queue, with scancel {' '.join(theirs)}; the workers end.")
    return lines


def _without_slurm(
    store: Store, plan: Plan, submissions: Sequence[Submission], flagged: bool, error: cluster.SlurmError
) -> int:
    """Waits until the leases show that workers have ended by themselves; prints packs and jobs that may still run."""
    end = time.monotonic() + WAIT_SECONDS
    while (held := _held(store, plan)) and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    jobs = [asked.job for asked in submissions if asked.job is not None]
    known = f" ({some(jobs)})" if jobs else ""
    say(f"Slurm does not answer: {error}")
    for pack, state in held.items():
        say(f"Pack {pack} is still held by {state.owner}, last heard of {state.age or 0:.0f} s ago.")
    if flagged:
        trains = "some workers have not ended yet, as said above" if held else "no worker trains now"
        say(f"Sweep {plan.sweep} is cancelled in the store: {trains}. {_by_themselves(flagged)}")
        say(f"Queued jobs{known} stay until Slurm answers; then give `python -m launch cancel {plan.sweep}` again.")
    else:
        say(f"Sweep {plan.sweep} is not cancelled: neither store nor Slurm took the request; give the command again.")
    return 1


def _by_themselves(flagged: bool) -> str:
    if not flagged:
        return "Only Slurm can ask workers to stop."
    return "Workers look at the store every few seconds, write their checkpoints and end, and none that starts trains."


def _held(store: Store, plan: Plan) -> dict[str, PackState]:
    """The packs of the sweep that workers hold.  Raises StoreError."""
    return LeaseFiles(store).held([pack.id for pack in plan.packs], plan.settings.launch.lease_seconds)


def _trained_by_others(store: Store, plan: Plan, submissions: Sequence[Submission]) -> list[str]:
    """A line for each pack of the sweep that a local worker, or a job of another sweep, holds."""
    ours = {asked.job for asked in submissions} - {None}
    return [
        f"Pack {pack} is held by {state.owner}, which is no job of this sweep and goes on."
        for pack, state in _held(store, plan).items()
        if state.owner is not None and state.owner.job not in ours
    ]


def _elsewhere(submissions: Sequence[Submission]) -> list[str]:
    """A line for each other cluster that has, or had, jobs of the sweep."""
    here = cluster.this_cluster(PATIENCE_SECONDS)
    others = other_clusters(submissions, here)
    return [f"To cancel its jobs on cluster {name}, give the same command there." for name in others]


def _state_of(job: OwnJob) -> str:
    return f"{job.state.state.lower() or 'in no state'}{f' on {job.state.nodes}' if job.state.nodes else ''}"
