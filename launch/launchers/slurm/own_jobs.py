"""Finds the jobs of a sweep among all of Slurm's jobs, by their marks and never by number or name alone; their states.

A job has its mark in two places. Its comment ends with the five words of `mark_of`, after the user's comment. And its
command is a script without arguments in the folder of its submission; the folder's name is the token.
"""

import hashlib
import itertools
import os
import pwd
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from launch.launchers.slurm import cluster
from launch.launchers.slurm.cluster import ACCOUNTING_COLUMNS, QUEUE_COLUMNS, JobState, is_step, with_accounting
from launch.packs.submissions import Submission, is_cancelled, own_logs_folder, submissions_of
from launch.wording import counted, some
from plasticity_lab.errors import StoreError
from plasticity_lab.process.account import user_name
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.store import Store

PATIENCE_SECONDS = 5.0
"""The time that `status` and `logs` wait for a cluster that does not answer."""
FEW = 3
"""The number of jobs with the same ending that are named."""
LONGEST = 500
"""The most characters of a path in a comment. Slurm allows 1,024 characters, including the user's comment."""
_MARK = re.compile(r"(?:.* )?plasticity_lab (\S+) (\S+) store (.+)", re.DOTALL)
_SCRIPT = re.compile(r"\S+\.sh")
_COLUMNS = ("%F", *QUEUE_COLUMNS, "%u", "%k", "%o")
"""Array, job, state, reason for waiting, nodes, user, comment, and the command with its arguments."""
Submitted = Mapping[str, Sequence[Submission]]
"""Sweep → its submissions."""


@dataclass(frozen=True)
class OwnJob:
    """A job of a sweep; each job of an array is one.

    array: the number of the array, or of the job itself. user: its owner. submission: its submission; None if the store
    has lost the file.
    """

    array: str
    state: JobState
    user: str
    submission: Submission | None

    @property
    def name(self) -> str:
        """The job's name in Slurm's commands: 12, or 12_3 in an array."""
        return self.state.job

    def wanted(self, cancellations: int) -> bool:
        """Whether the job still takes part in its sweep after `cancellations` cancellations."""
        return not cancellations if self.submission is None else self.submission.cancellations >= cancellations


def own_jobs(
    store: Store, submitted: Submitted, patience: float = cluster.PATIENCE_SECONDS, *options: str
) -> dict[str, list[OwnJob]]:
    """Sweep → its jobs in the queue, including ending jobs; squeue is called once.  Raises SlurmError.

    patience: the seconds that squeue may take. options: more options for squeue.
    """
    jobs: dict[str, list[OwnJob]] = {sweep: [] for sweep in submitted}
    everyone = {user_name(), *(submission.user for submissions in submitted.values() for submission in submissions)}
    users = [user for user in sorted(everyone) if _is_known(user)]
    if not submitted or not users:
        return jobs
    for row in cluster.queue(_COLUMNS, f"--user={','.join(users)}", *options, patience=patience):
        array, *state, user, comment, command = row
        if (owned := _by_mark(store, submitted, user, comment, command)) is not None:
            sweep, submission = owned
            jobs[sweep].append(OwnJob(array, JobState.reported(*state), user, submission))
    return jobs


def living(jobs: Iterable[OwnJob]) -> list[OwnJob]:
    """The jobs that wait or run, or are in an unknown state."""
    return [job for job in jobs if job.state.lives]


def by_array(jobs: Iterable[OwnJob]) -> Counter[str]:
    """Array → the number of its jobs."""
    return Counter(job.array for job in jobs)


def states_of_sweeps(
    store: Store, submitted: Submitted, here: str | None, patience: float
) -> tuple[dict[str, dict[str, JobState]], str]:
    """Sweep → job name → state, for its jobs on this cluster, and for ended jobs as far as Slurm remembers them.

    here: the cluster's name, None if unknown. Also returns the reason why sacct gives no endings; empty if it does.
    Raises SlurmError if squeue does not answer.
    """
    jobs = own_jobs(store, submitted, patience, "--states=all")
    states = {sweep: {job.name: job.state for job in its_jobs} for sweep, its_jobs in jobs.items()}
    arrays = defaultdict(list)
    for submission in itertools.chain(*submitted.values()):
        if submission.job is not None and not on_another(submission, here) and _asked_from(store, submission):
            arrays[submission.job].append(submission)
    try:
        rows = cluster.accounting(arrays, (*ACCOUNTING_COLUMNS, "User", "SubmitLine"), patience)
    except cluster.SlurmError as error:
        return states, str(error)
    for array, submissions in arrays.items():
        for submission in submissions:
            ended = with_accounting(states[submission.sweep], _rows_of(submission, rows, array))
            states[submission.sweep] = ended
    return states, ""


def on_another(submission: Submission, here: str | None) -> bool:
    """Whether a submission went to another cluster than `here`; False if either name is unknown."""
    return None not in (here, submission.cluster) and submission.cluster != here


def other_clusters(submissions: Iterable[Submission], here: str | None) -> list[str]:
    """The names of other clusters that received jobs."""
    return sorted({str(asked.cluster) for asked in submissions if asked.job and on_another(asked, here)})


def _by_mark(
    store: Store, submitted: Submitted, user: str, comment: str, command: str
) -> tuple[str, Submission | None] | None:
    """The sweep and the submission of a job; None if the job belongs to another store or to no sweep in `submitted`."""
    mark, folder = mark_in(comment, store), script_folder(command)
    if mark is None or folder is None or mark[0] not in submitted:
        return None
    sweep, token = mark
    for submission in submitted[sweep]:
        if submission.token == token:
            return (sweep, submission) if (user, folder) == (submission.user, submission.folder) else None
    # The store has lost the file of the submission. Then the job must run a script in the sweep's folder of logs, and
    # only the job's owner may claim it for the sweep.
    is_in_logs = folder.name == token and _is_same_folder(folder.parent, own_logs_folder(store, sweep))
    return (sweep, None) if is_in_logs and user == user_name() else None


def _asked_from(store: Store, submission: Submission) -> bool:
    """Whether a submission was made from this store; False if this store is a copy of that store."""
    if submission.launcher.get("submitit_folder"):
        return True  # its folder is outside the store, so it cannot show which store made it
    return _is_same_folder(submission.folder.parent.parent, store.sweep_folder(submission.sweep))


def _rows_of(submission: Submission, rows: Sequence[Sequence[str]], array: str) -> list[Sequence[str]]:
    """The rows of sacct that belong to a submission, without their last two columns (user and submit line).

    The steps of a job follow the job's row, and have neither a user nor a submit line.
    """
    belonging, belongs = [], False
    for *row, user, line in rows:
        if not is_step(row[0]):
            number = re.match(r"\d+", row[0])
            same_array = number is not None and number[0] == array
            script = line.partition(" ")[2]  # after `sbatch`
            belongs = same_array and submission.user == user and script_folder(script) == submission.folder
        if belongs:
            belonging.append(row)
    return belonging


def _is_known(user: str) -> bool:
    """Whether this machine knows a user: squeue refuses unknown users."""
    try:
        pwd.getpwnam(user)
    except KeyError:
        return user.isdecimal()
    return True


def mark_of(store: Store, sweep: str, token: str) -> str:
    """The mark of a submission's jobs: five words."""
    return f"plasticity_lab {sweep} {token} store {_word_for(store)}"


def mark_in(comment: str, store: Store) -> tuple[str, str] | None:
    """The sweep and the token in a comment with this store's mark; None for other comments.

    The mark may name another path to the same store.
    """
    mark = _MARK.fullmatch(comment)
    if mark is None:
        return None
    sweep, token, word = mark.groups()
    path = unquote_to_bytes(word)
    ours = word == _word_for(store) or (path.startswith(b"/") and _is_same_folder(path, store.root))
    return (sweep, token) if ours else None


def script_folder(command: str) -> Path | None:
    """The folder of the script that a job runs; None if the command is no script, or has arguments.

    command: Slurm's text of the command, words joined by spaces.
    """
    folder, slash, name = command.rpartition("/")
    return Path(folder) if slash and _SCRIPT.fullmatch(name) else None


def _word_for(store: Store) -> str:
    """The store's path, quoted as in a URL, without spaces, quotes and line breaks; the SHA-256 of a long path."""
    path = os.fsencode(store.root)
    word = quote(path)
    return word if len(word) <= LONGEST else f"sha256:{hashlib.sha256(path).hexdigest()}"


def _is_same_folder(one: Path | bytes, other: Path) -> bool:
    """Whether two paths name the same folder. Compares the paths' text if one of them cannot be read."""
    try:
        return os.path.samefile(os.fsencode(one), os.fsencode(other))
    except (OSError, ValueError):
        return os.fsencode(one) == os.fsencode(other)


@dataclass(frozen=True)
class SweepJobs:
    """The names of one sweep's jobs.

    running: running jobs. waiting: reason → queued jobs. ended: ending → jobs that ended early. cancelled: whether the
    sweep was cancelled, and no worker submitted since. unknown: state → jobs in a state that this version does not
    know.
    """

    running: Sequence[str]
    waiting: Mapping[str, Sequence[str]]
    ended: Mapping[str, Sequence[str]]
    cancelled: bool
    unknown: Mapping[str, Sequence[str]]

    def __str__(self) -> str:
        """All jobs in one line, with counts and reasons."""
        at_work = f"{counted(len(self.running), 'job')} run{'s' if len(self.running) == 1 else ''}"
        parts = [at_work if self.running else "no job runs"]
        parts += [f"{len(jobs):,} wait{'s' if len(jobs) == 1 else ''} {why}" for why, jobs in self.waiting.items()]
        parts += [f"{len(jobs):,} ended early: {how} ({some(jobs, FEW)})" for how, jobs in self.ended.items()]
        for how, jobs in self.unknown.items():
            parts.append(f"{len(jobs):,} {'is' if len(jobs) == 1 else 'are'} {how} ({some(jobs, FEW)})")
        return "; ".join(parts)


def sweep_jobs(store: Store, sweeps: Iterable[str]) -> tuple[dict[str, SweepJobs | None], list[str]]:
    """Sweep → its jobs, for sweeps that were submitted to Slurm; sweep → None if Slurm does not answer.

    Also returns a sentence for each unknown fact. Slurm is asked once for all sweeps, and only if a sweep has
    submissions.
    """
    submitted: dict[str, list[Submission]] = {}
    unreadable: list[StoreError] = []
    for sweep in sweeps:
        if submissions := submissions_of(store, sweep, unreadable):
            submitted[sweep] = submissions
    said = [str(error) for error in unreadable if not isinstance(error, DamagedFile)]  # `status` names damaged files
    if not submitted:
        return {}, said
    here = cluster.this_cluster(PATIENCE_SECONDS)
    try:
        states, gap = states_of_sweeps(store, submitted, here, PATIENCE_SECONDS)
    except cluster.SlurmError as error:
        return dict.fromkeys(submitted), [*said, f"Which jobs run and which are queued is unknown: {error}"]
    said += [f"How jobs ended is unknown: {gap}"] if gap else []
    for sweep, submissions in submitted.items():
        others = other_clusters(submissions, here)
        said += [f"Sweep {sweep} has jobs on cluster {name}; their state is shown there." for name in others]
    return {sweep: _grouped(states[sweep].values(), is_cancelled(store, submitted[sweep])) for sweep in submitted}, said


def _grouped(states: Iterable[JobState], cancelled: bool) -> SweepJobs:
    """Groups jobs by the reason for their state, the largest groups first."""
    running, waiting, ended, unknown = [], defaultdict(list), defaultdict(list), defaultdict(list)
    for state in sorted(states, key=lambda state: state.job):
        if state.runs:
            running.append(state.job)
        elif state.waits:
            waiting[state.why].append(state.job)
        elif state.ended_early:
            ended[state.why].append(state.job)
        elif state.lives:
            unknown[state.why].append(state.job)
    return SweepJobs(running, _largest_first(waiting), _largest_first(ended), cancelled, _largest_first(unknown))


def _largest_first(groups: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return dict(sorted(groups.items(), key=lambda entry: -len(entry[1])))
