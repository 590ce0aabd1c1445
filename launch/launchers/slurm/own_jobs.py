"""Which of the jobs that Slurm knows are a sweep's own: told by their marks, never by their numbers alone."""

import pwd
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from launch.launchers.slurm import cluster
from launch.launchers.slurm.job_state import ENDED, JobState, with_accounting
from launch.launchers.slurm.submitted import Submission, mark_of, this_user
from plasticity_lab.records.store import Store

SLACK_SECONDS = 7200.0
"""Slurm's clock and that of who submitted may differ; a job that Slurm requeues counts as submitted anew."""
_COLUMNS = "%F|%i|%T|%r|%N|%u|%V|%k %o"
"""Array, job, state, why it waits, nodes, user, when it was submitted, and with any sign in them comment and script."""


@dataclass(frozen=True)
class OwnJob:
    """A job of a sweep's, one for each of an array.

    array: what it belongs to, or itself. user: whose it is. submission: which it came of; None where the store has no
    file of that any more.
    """

    array: str
    state: JobState
    user: str
    submission: Submission | None

    @property
    def name(self) -> str:
        """As Slurm's commands name it: 12, or 12_3."""
        return self.state.job

    def wanted(self, cancellations: int) -> bool:
        """Whether it is to go on with its sweep, which has been cancelled so often."""
        return not cancellations if self.submission is None else self.submission.cancellations >= cancellations


Submitted = Mapping[str, Sequence[Submission]]
"""Sweep → its submissions."""


def own_jobs(
    store: Store, submitted: Submitted, patience: float = cluster.PATIENCE_SECONDS, *options: str
) -> dict[str, list[OwnJob]]:
    """Sweep → its jobs in the queue, those that are ending too; squeue is asked once.  Raises SlurmError.

    patience: seconds that it may take. options: more words for squeue.
    """
    found: dict[str, list[OwnJob]] = {sweep: [] for sweep in submitted}
    if not submitted:
        return found
    users = {this_user(), *(each.user for several in submitted.values() for each in several if each.user)}
    for row in cluster.queue_of(_known(users), _COLUMNS, *options, patience=patience):
        array, job, state, reason, nodes, user, moment, about = row.split("|", 7)
        for sweep, several in submitted.items():
            whose = [each for each in several if _is_of(each, array, user, moment, about)]
            if whose or (user == this_user() and _names(store, sweep, about)):
                known = whose[0] if whose else None
                found[sweep].append(OwnJob(array, JobState(job, state, reason, nodes), user, known))
                break
    return found


def living(jobs: Iterable[OwnJob]) -> list[OwnJob]:
    """Those that wait or run."""
    return [job for job in jobs if job.state.state not in (*ENDED, "COMPLETING")]


def by_array(jobs: Iterable[OwnJob]) -> Counter[str]:
    """Array → how many of its jobs there are."""
    return Counter(job.array for job in jobs)


def states_of_sweeps(
    store: Store, submitted: Submitted, here: str | None, patience: float
) -> tuple[dict[str, dict[str, JobState]], str]:
    """Sweep → name → state of its jobs on this cluster, those that are over too, as far as Slurm remembers them.

    here: the cluster's name, where it is known. Returns also why it cannot be told how jobs ended, where sacct does not
    answer.  Raises SlurmError where squeue does not.
    """
    found: dict[str, dict[str, JobState]] = {}
    for sweep, jobs in own_jobs(store, submitted, patience, "--states=all").items():
        found[sweep] = {job.name: job.state for job in jobs}
    arrays = defaultdict(list)
    for several in submitted.values():
        for each in several:
            if each.job is not None and not on_another(each, here):
                arrays[each.job].append(each)
    try:
        rows = cluster.in_accounting(arrays, "JobID,State,ExitCode,NodeList,User,Submit", patience)
    except cluster.SlurmError as error:
        return found, str(error)
    for array, several in arrays.items():
        for each in several:
            mine = [row[:4] for row in _of_array(rows, array, each)]
            found[each.sweep] = with_accounting(found[each.sweep], mine)
    return found, ""


def on_another(submission: Submission, here: str | None) -> bool:
    """Whether jobs were given to another cluster than the one named `here`, as far as both are known."""
    return None not in (here, submission.cluster) and submission.cluster != here


def _is_of(each: Submission, array: str, user: str, moment: str, about: str) -> bool:
    """Whether a row of squeue is a job of a submission."""
    if not each.token:  # of an earlier version: by its number and its script's folder
        return each.job == array and f"{each.folder}/" in about
    return each.token in about and user == each.user and _not_before(moment, each)


def _names(store: Store, sweep: str, about: str) -> bool:
    """Whether a job says that it is of this sweep, in this store."""
    marked = mark_of(store, sweep) in about and about_store(store) in about
    return marked or f"{store.sweep_folder(sweep)}/" in about


def about_store(store: Store) -> str:
    """How the comment of a job names the store."""
    return f" store {store.root} "


def _of_array(rows: Sequence[Sequence[str]], array: str, each: Submission) -> list[Sequence[str]]:
    """The rows of sacct that are of a submission; a job's steps come after it, without a user."""
    mine, belongs = [], False
    for row in rows:
        job, user, moment = row[0], row[4], row[5]
        if "." not in job:
            number = re.match(r"\d+", job)
            belongs = number is not None and number[0] == array
            belongs &= each.user in (None, user) and _not_before(moment, each)
        if belongs:
            mine.append(row)
    return mine


def _not_before(moment: str, each: Submission) -> bool:
    """Whether what Slurm tells as the time of a job's submission may be that of these; unknown times may."""
    try:
        return datetime.fromisoformat(moment).timestamp() > each.time - SLACK_SECONDS
    except ValueError:
        return True


def _known(users: Iterable[str]) -> list[str]:
    """Those of the users that this machine knows: squeue refuses others."""
    found = []
    for user in sorted(users):
        try:
            pwd.getpwnam(user)
        except KeyError:
            if not user.isdecimal():
                continue
        found.append(user)
    return found
