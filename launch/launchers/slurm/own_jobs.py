"""Which of the jobs that Slurm knows are a sweep's own: by their marks, never by their numbers or names alone.

A job bears its mark in two places. Its comment ends with the five words of `mark_of`, after the comment that the user
has asked for. And it runs, without arguments, a script in the folder of its submission, whose last name is the token.
"""

import hashlib
import os
import pwd
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from launch.launchers.slurm import cluster
from launch.launchers.slurm.job_state import JobState, is_step, with_accounting
from launch.launchers.slurm.submissions import Submission, own_logs_folder
from plasticity_lab.process.account import user_name
from plasticity_lab.records.store import Store

_MARK = re.compile(r"(?:.* )?plasticity_lab (\S+) (\S+) store (.+)", re.DOTALL)
LONGEST = 500
"""Signs of a path in a comment: Slurm refuses comments of more than 1,024, and the user's own is to have room."""
_SCRIPT = re.compile(r"\S+\.sh")
_COLUMNS = ("%F", "%i", "%T", "%r", "%N", "%u", "%k", "%o")
"""Array, job, state, why it waits, nodes, user, comment, and the command with its arguments."""
_ACCOUNTING = ("JobID", "State", "ExitCode", "NodeList", "User", "SubmitLine")


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
    users = {user_name(), *(each.user for several in submitted.values() for each in several)}
    for row in cluster.queue_of(_known(users), _COLUMNS, *options, patience=patience):
        array, job, state, reason, nodes, user, comment, command = row
        owned = _by_mark(store, submitted, user, comment, command)
        if owned is not None:
            sweep, submission = owned
            found[sweep].append(OwnJob(array, JobState.reported(job, state, reason, nodes), user, submission))
    return found


def living(jobs: Iterable[OwnJob]) -> list[OwnJob]:
    """Those that wait or run, or are in a state that this version does not know."""
    return [job for job in jobs if job.state.lives]


def by_array(jobs: Iterable[OwnJob]) -> Counter[str]:
    """Array → how many of its jobs there are."""
    return Counter(job.array for job in jobs)


def states_of_sweeps(
    store: Store, submitted: Submitted, here: str | None, patience: float
) -> tuple[dict[str, dict[str, JobState]], str]:
    """Sweep → name → state of its jobs on this cluster, those that are over too, as far as Slurm remembers them.

    here: the cluster's name, where it is known. Returns also why it is unknown how jobs ended, where sacct does not
    answer.  Raises SlurmError where squeue does not.
    """
    found: dict[str, dict[str, JobState]] = {}
    for sweep, jobs in own_jobs(store, submitted, patience, "--states=all").items():
        found[sweep] = {job.name: job.state for job in jobs}
    arrays = defaultdict(list)
    for several in submitted.values():
        for each in several:
            if each.job is not None and not on_another(each, here) and _asked_from(store, each):
                arrays[each.job].append(each)
    try:
        rows = cluster.in_accounting(arrays, _ACCOUNTING, patience)
    except cluster.SlurmError as error:
        return found, str(error)
    for array, several in arrays.items():
        for each in several:
            found[each.sweep] = with_accounting(found[each.sweep], _of_array(rows, array, each))
    return found, ""


def on_another(submission: Submission, here: str | None) -> bool:
    """Whether jobs were given to another cluster than the one named `here`, as far as both are known."""
    return None not in (here, submission.cluster) and submission.cluster != here


def _by_mark(
    store: Store, submitted: Submitted, user: str, comment: str, command: str
) -> tuple[str, Submission | None] | None:
    """The sweep and the submission that a job is of; None for a job of another sweep or store, or of anything else."""
    mark, folder = mark_in(comment), script_folder(command)
    if mark is None or folder is None or mark.sweep not in submitted or not mark.is_in(store):
        return None
    for each in submitted[mark.sweep]:
        if each.token == mark.token:
            return (mark.sweep, each) if (user, folder) == (each.user, each.folder) else None
    # The store has lost its file of the submission. The job has to run a script in the sweep's own folder then, and
    # only who has given it may say that it is the sweep's.
    own = folder.name == mark.token and is_same_folder(folder.parent, own_logs_folder(store, mark.sweep))
    return (mark.sweep, None) if own and user == user_name() else None


def _asked_from(store: Store, each: Submission) -> bool:
    """Whether a submission was made from this store, not from another one that this is a copy of."""
    if each.launcher.get("submitit_folder"):
        return True  # a folder that is not in the store says nothing about it
    return is_same_folder(each.folder.parent.parent, store.sweep_folder(each.sweep))


def _of_array(rows: Sequence[Sequence[str]], array: str, each: Submission) -> list[Sequence[str]]:
    """Job, state, exit code and nodes of the rows of sacct that are of a submission.

    A job's steps come after it, without a user and without what it was submitted by.
    """
    mine, belongs = [], False
    for job, state, code, nodes, user, line in rows:
        if not is_step(job):
            number = re.match(r"\d+", job)
            submits = line.partition(" ")[2]  # after `sbatch`
            belongs = number is not None and number[0] == array
            belongs = belongs and each.user == user and script_folder(submits) == each.folder
        if belongs:
            mine.append((job, state, code, nodes))
    return mine


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


@dataclass(frozen=True)
class Mark:
    """What the end of a comment says.  store: the word for the store's path, or the path itself."""

    sweep: str
    token: str
    store: str

    def is_in(self, store: Store) -> bool:
        """Whether the job is one of this store, which may have been given by another path then."""
        if self.store == _word_for(store):
            return True
        path = unquote_to_bytes(self.store)
        return path.startswith(b"/") and is_same_folder(path, store.root)


def mark_of(store: Store, sweep: str, token: str) -> str:
    """The mark of a submission's jobs: five words."""
    return f"plasticity_lab {sweep} {token} store {_word_for(store)}"


def mark_in(comment: str) -> Mark | None:
    """The mark at the end of a comment; None where there is none."""
    found = _MARK.fullmatch(comment)
    return None if found is None else Mark(*found.groups())


def script_folder(command: str) -> Path | None:
    """The folder of the script that a job runs; None if it is no script, or is given arguments.

    command: as Slurm shows it, words joined by spaces.
    """
    folder, slash, name = command.rpartition("/")
    return Path(folder) if slash and _SCRIPT.fullmatch(name) else None


def _word_for(store: Store) -> str:
    """The store's path without spaces, quotes and line breaks, as in a URL; of a long one its SHA-256."""
    path = os.fsencode(store.root)
    word = quote(path)
    return word if len(word) <= LONGEST else f"sha256:{hashlib.sha256(path).hexdigest()}"


def is_same_folder(one: Path | bytes, other: Path) -> bool:
    """Whether two paths name one folder; where one of them cannot be looked at, whether they are written alike."""
    try:
        return os.path.samefile(os.fsencode(one), os.fsencode(other))
    except (OSError, ValueError):
        return os.fsencode(one) == os.fsencode(other)
