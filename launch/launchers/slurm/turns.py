"""One command after another submits workers for a sweep, so that two given at once do not start twice as many."""

import os
import time

from launch.launchers.slurm.own_jobs import by_array, living, own_jobs
from launch.launchers.slurm.submitted import Outcome, Submission, decide, read_submission, undecided
from launch.packs.owner import is_dead_here
from launch.wording import say
from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.files import disk_errors, server_time
from plasticity_lab.records.store import Store

LOOK_SECONDS = 0.5
LOST_SECONDS = 300.0
"""How long another machine's command may take to submit; after that it is taken for dead."""


def await_turn(store: Store, mine: Submission) -> None:
    """Waits until it is known what came of the submissions before this one.

    One whose command has died is decided here: by the jobs that Slurm has of it, or as lost. Should a lost one still
    come to a job, its workers see that and end.  Raises SlurmError; StoreError.
    """
    said = False
    while waits_for := undecided(store, mine.sweep, before=mine.number):
        for number in waits_for:
            _decide_if_dead(store, mine.sweep, number)
        if not said and (others := undecided(store, mine.sweep, before=mine.number)):
            say(
                f"Another command submits workers for this sweep, {_who(store, mine.sweep, others[0])}; waiting for it."
            )
            said = True
        elif said:
            time.sleep(LOOK_SECONDS)


def outcome_in_queue(store: Store, asked: Submission, unless: str) -> Outcome:
    """What came of a submission as the queue tells it.  unless: why there is no job, if there is none.

    Raises SlurmError.
    """
    # Not those that are over: of a job that it refuses Slurm keeps a failed one for some minutes.
    jobs = living(own_jobs(store, {asked.sweep: [asked]})[asked.sweep])
    arrays = by_array(job for job in jobs if job.submission is not None)
    for array, count in arrays.items():
        return Outcome(array, count)
    return Outcome(None, why=unless)


def _decide_if_dead(store: Store, sweep: str, number: int) -> None:
    try:
        other = read_submission(store, sweep, number)
    except DamagedFile as error:
        decide(store, sweep, number, Outcome(None, why=f"it cannot be read: {error}"))
        return
    if other.owner is None or is_dead_here(other.owner) or _age(store, sweep, number) > LOST_SECONDS:
        lost = f"the command that submitted, {other.owner}, ended before it was done"
        decide(store, sweep, number, outcome_in_queue(store, other, unless=lost))


def _age(store: Store, sweep: str, number: int) -> float:
    """Seconds since a submission was asked for, by the file server's clock."""
    path = store.submissions_folder(sweep) / f"{number}.json"
    with disk_errors("read", path):
        return server_time(path.parent) - os.stat(path).st_mtime


def _who(store: Store, sweep: str, number: int) -> str:
    try:
        return str(read_submission(store, sweep, number).owner)
    except StoreError:
        return f"number {number}"
