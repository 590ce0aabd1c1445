"""A sweep's submissions and cancellations in the store. Each file is created once, so no writer overwrites another.

`submissions/3.json` is written before sbatch is called, and `3.outcome.json` when the outcome is known. The command,
the first worker, or a later command that finds the first command dead writes the outcome; the first to create the file
decides. A unique token marks a submission's jobs, in their comment and in the name of their script's folder (see
`own_jobs`). Their numbers are not unique: Slurm's numbers may be reset, and another cluster may use the same numbers.

Cancellations are files 1, 2, 3, … Workers and the command that submits them store the number of cancellations at the
time of the command. One more file cancels them. So a sweep can go on without removing a cancellation, and no stale copy
can undo one.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from launch.packs.lease_files import LeaseFiles
from launch.packs.owner import Owner, this_owner
from launch.packs.sweep import in_words
from plasticity_lab.errors import StoreError
from plasticity_lab.named_code import named
from plasticity_lab.process.account import user_name
from plasticity_lab.records.damage import DamagedFile, object_of, read_as, read_mapping
from plasticity_lab.records.files import create_once, json_bytes, names, server_time, stands
from plasticity_lab.records.plan import Plan
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store

FORMAT = 1
_ADVICE = (
    "its jobs are known by their comment, which `squeue --me --format='%i %k'` shows: leave the file, the sweep's "
    "command sets it aside, and `python -m launch cancel` finds the jobs without it"
)
CLOCK_SECONDS = 0.5
"""If a file's time is later than now by more than this, it comes from another clock than the file server's."""
LOOK_SECONDS = 4.0
"""The time between a worker's checks for a cancellation. Each check asks the file server for one name."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a submission.

    job: the id of the array, or None. jobs: the number of its jobs. why: the reason if the submission has no job.
    """

    job: str | None = None
    jobs: int = 0
    why: str = ""


@dataclass(frozen=True)
class Submission:
    """A request for workers to Slurm.

    number: 1 for the first submission of its sweep. token: the mark of its jobs. cancellations: the number of the
    sweep's cancellations so far. folder: the folder of its script and logs. user, time, cluster: the user, time and
    cluster (None if unknown) of the request. owner: the process that submits. launcher, settings: the launcher's
    parameters and the command's settings, for starting the same workers again. code: the packages and folders from
    outside the package that its command named (see `named_code`); empty in older files. outcome: None until it is
    known.
    """

    sweep: str
    number: int
    token: str
    cancellations: int
    folder: Path
    user: str
    time: float
    owner: Owner
    launcher: Mapping[str, Any]
    settings: Settings
    cluster: str | None = None
    code: list[str] = field(default_factory=list)
    outcome: Outcome | None = None

    @property
    def job(self) -> str | None:
        """The id of its array; None if it has none or the outcome is unknown."""
        return None if self.outcome is None else self.outcome.job


def ask(
    store: Store, sweep: str, launcher: Mapping[str, Any], settings: Settings, before: int, cluster: str | None
) -> Submission:
    """Writes a submission with the next number, before Slurm is asked.  Raises StoreError.

    before: the number of cancellations when the command was given.
    """
    token, number = secrets.token_hex(6), max(_numbers(store, sweep), default=0) + 1
    folder = Path(launcher.get("submitit_folder") or own_logs_folder(store, sweep)).absolute() / token
    request = (user_name(), time.time(), this_owner(), dict(launcher), settings, cluster, named())
    asked = Submission(sweep, number, token, before, folder, *request)
    content = asdict(asked) | {"format": FORMAT, "folder": str(folder), "settings": settings.model_dump(mode="json")}
    written = json_bytes({key: value for key, value in content.items() if key not in ("sweep", "number", "outcome")})
    while not create_once(_path(store, sweep, asked.number), written):
        asked = replace(asked, number=asked.number + 1)
    return asked


def decide(store: Store, sweep: str, number: int, outcome: Outcome) -> Outcome:
    """Writes the outcome of a submission, unless it has one.  Returns the outcome that counts.

    Raises DamagedFile; StoreError.
    """
    create_once(_path(store, sweep, number, "outcome."), json.dumps(asdict(outcome), ensure_ascii=False).encode())
    return outcome_of(store, sweep, number) or outcome


def outcome_of(store: Store, sweep: str, number: int) -> Outcome | None:
    """The outcome of a submission; None if it is not known yet.  Raises DamagedFile; StoreError."""
    return read_as(Outcome, _path(store, sweep, number, "outcome."), _ADVICE)


def undecided(store: Store, mine: Submission) -> list[int]:
    """The numbers of earlier submissions of the same sweep without a known outcome.  Raises StoreError."""
    files = set(names(store.submissions_folder(mine.sweep)))
    earlier = [number for number in range(1, mine.number) if f"{number}.json" in files]
    return [number for number in earlier if f"{number}.outcome.json" not in files]


def read_submission(store: Store, sweep: str, number: int) -> Submission:
    """A submission, without its outcome.  Raises DamagedFile; StoreError if a later version has written it."""
    path = _path(store, sweep, number)
    value = read_mapping(path, _ADVICE)
    if value is None:
        raise StoreError(f"{path} does not exist any more.")
    if isinstance(value.get("format"), int) and value["format"] != FORMAT:
        raise StoreError(f"{path} has another format than this version reads, which is {FORMAT}.")
    try:
        return object_of(Submission, {**value, "sweep": sweep, "number": number, "outcome": None})
    except ValueError as error:
        raise DamagedFile(path, str(error), _ADVICE) from error


def submissions_of(store: Store, sweep: str, unreadable: list[StoreError]) -> list[Submission]:
    """A sweep's submissions, the latest last. The errors of unreadable files are added to `unreadable`.

    Raises StoreError if the disk does not answer.
    """
    submissions = []
    for number in sorted(_numbers(store, sweep)):
        if _path(store, sweep, number).exists():
            try:
                submissions.append(read_submission(store, sweep, number))
                submissions[-1] = replace(submissions[-1], outcome=outcome_of(store, sweep, number))
            except StoreError as error:
                unreadable.append(error)
    return submissions


def own_logs_folder(store: Store, sweep: str) -> Path:
    """The default folder for scripts and logs, unless the launcher's parameters name another.

    Each submission has a subfolder.
    """
    return store.sweep_folder(sweep) / "jobs"


def _numbers(store: Store, sweep: str) -> set[int]:
    """The numbers in use, including numbers of files that were set aside."""
    starts = (name.partition(".")[0] for name in names(store.submissions_folder(sweep)))
    return {int(start) for start in starts if start.isdecimal()}


def _path(store: Store, sweep: str, number: int, kind: str = "") -> Path:
    return store.submissions_folder(sweep) / f"{number}.{kind}json"


def was_on_slurm(store: Store, plan: Plan) -> bool:
    """Whether Slurm jobs hold or held packs of the sweep, or wrote logs.  Raises StoreError."""
    if own_logs_folder(store, plan.sweep).exists():
        return True
    leases, packs = LeaseFiles(store), {pack.id for pack in plan.packs}
    owners = (leases.owner(pack, epoch) for pack, epoch in leases.epochs().items() if pack in packs)
    return any(owner is not None and owner.job is not None for owner in owners)


def last_submission(store: Store, plan: Plan) -> Submission:
    """The latest readable submission of a sweep.  Raises StoreError that names a way to go on without one."""
    unreadable: list[StoreError] = []
    if submissions := submissions_of(store, plan.sweep, unreadable):
        return submissions[-1]
    if unreadable:
        why = str(unreadable[-1])
    elif was_on_slurm(store, plan):
        why = (
            f"Sweep {plan.sweep} was given to Slurm, but {store.submissions_folder(plan.sweep)}, which holds "
            "the parameters, is missing."
        )
    else:
        raise not_on_slurm(plan)
    raise StoreError(f"{why} The command itself goes on, and counts the present workers: {in_words(plan.command)}")


def not_on_slurm(plan: Plan) -> StoreError:
    """The error of commands about Slurm if local workers train the sweep."""
    return StoreError(
        f"Sweep {plan.sweep} was not given to Slurm, but trained by its command's machine: Ctrl-C stops it, and the "
        f"same command continues it. `python -m launch status {plan.sweep}` shows the command."
    )


def cancellations(store: Store, sweep: str) -> int:
    """The number of a sweep's cancellations.  Raises StoreError."""
    return max((int(name) for name in names(store.cancelled_folder(sweep)) if name.isdecimal()), default=0)


def cancellations_before(store: Store, sweep: str, seconds: float) -> int:
    """The number of a sweep's cancellations when the present command began.  seconds: the time since then.

    Commands spend seconds on imports before they can check. A cancellation in this time must apply to them too.
    Raises StoreError.
    """
    often = cancellations(store, sweep)
    if not often:
        return 0
    folder = store.cancelled_folder(sweep)
    now = server_time(folder)
    while often and -CLOCK_SECONDS < now - _made(folder / str(often)) < seconds:
        often -= 1
    return often


def _made(path: Path) -> float:
    """The time of a cancellation on the file server's clock; 0, long ago, if it cannot be read."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def add_cancellation(store: Store, sweep: str) -> int:
    """Cancels all submissions of a sweep so far.  Returns the new number of cancellations.  Raises StoreError."""
    content = json.dumps({"time": time.time(), "host": os.uname().nodename, "pid": os.getpid()}).encode()
    number = cancellations(store, sweep) + 1
    while not create_once(store.cancelled_folder(sweep) / str(number), content):
        number += 1
    return number


def is_cancelled(store: Store, submissions: Sequence[Submission]) -> bool:
    """Whether a sweep was cancelled, and no workers were submitted since.

    submissions: the submissions of one sweep, at least one.
    """
    often = cancellations(store, submissions[0].sweep)
    return often > 0 and not any(asked.cancellations >= often and asked.job is not None for asked in submissions)


class Cancelled:
    """A callable: whether a sweep has more than `before` cancellations. Calls are cheap."""

    def __init__(self, store: Store, sweep: str, before: int) -> None:
        self._next = store.cancelled_folder(sweep) / str(before + 1)
        self._looked, self._known = float("-inf"), False

    def __call__(self) -> bool:
        """The answer of a check at most LOOK_SECONDS ago; False if the store does not answer."""
        return self._known if time.monotonic() - self._looked < LOOK_SECONDS else self.now()

    def now(self) -> bool:
        """The answer of a check now; False if the store does not answer."""
        with contextlib.suppress(StoreError):
            self._known = self._known or stands(self._next)
        self._looked = time.monotonic()
        return self._known
