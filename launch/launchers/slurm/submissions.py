"""A sweep's submissions and cancellations in the store: files that are created once, so that no writer undoes another.

`submissions/3.json` is written before sbatch is called, and `3.outcome.json` once the outcome is known: by the command
itself, by the first worker, or by a later command that finds the first one dead. The first of them to create it
decides. A submission's jobs are known by a token that no other job has, in their comment and in the name of their
script's folder (see `own_jobs`): other jobs may get the same number, after Slurm's numbers were reset or on another
cluster.

Cancellations are files 1, 2, 3, … Workers, and the command that submits them, carry the number of cancellations at the
time when they were asked for, and are cancelled once there is one more. So a sweep goes on without undoing anything,
and no stale copy can undo a cancellation.
"""

import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from launch.packs.lease_files import LeaseFiles
from launch.packs.owner import Owner, this_owner
from launch.packs.sweep import in_words
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.named_code import named
from plasticity_lab.process.account import user_name
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_fields, read_mapping
from plasticity_lab.records.files import create_once, names, server_time, stands
from plasticity_lab.records.plan import Plan
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.records.store import Store

FORMAT = 1
_PLAIN = {"token": str, "cancellations": int, "user": str, "cluster": str | None, "time": int | float, "launcher": dict}
_FIELDS = _PLAIN | {"format": int, "folder": str, "owner": dict, "settings": dict}
_OUTCOME_FIELDS = {"job": str | None, "jobs": int, "why": str}
_ADVICE = (
    "its jobs are known by their comment, which `squeue --me --format='%i %k'` shows: leave the file, the sweep's "
    "command sets it aside, and `python -m launch cancel` finds the jobs without it"
)
CLOCK_SECONDS = 0.5
"""A file that seems to be younger than this much after now has the time of another clock than the file server's."""
LOOK_SECONDS = 4.0
"""How often a worker looks for a cancellation; each look asks the file server for one name."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a submission.  job: the array, or None. jobs: of the array. why: the reason if there is no job."""

    job: str | None
    jobs: int = 0
    why: str = ""


@dataclass(frozen=True)
class Submission:
    """A request for workers to Slurm.

    number: 1 for the first of its sweep. token: marks its jobs. cancellations: of the sweep so far. folder: of its
    script and logs. user, cluster, time: of the request; a cluster may be unknown. owner: the process that submits.
    launcher, settings: the launcher's parameters and the command's settings, to start the same workers again. code:
    the packages and folders from outside the package that its command named (see `named_code`); older files have none.
    outcome: None if it is not known yet.
    """

    sweep: str
    number: int
    token: str
    cancellations: int
    folder: Path
    user: str
    cluster: str | None
    time: float
    owner: Owner
    launcher: Mapping[str, Any]
    settings: Settings
    code: Sequence[str] = ()
    outcome: Outcome | None = None

    @property
    def job(self) -> str | None:
        """Its array, if it is known to have one."""
        return None if self.outcome is None else self.outcome.job


def ask(
    store: Store, sweep: str, launcher: Mapping[str, Any], settings: Settings, before: int, cluster: str | None
) -> Submission:
    """Writes a submission with the next number, before Slurm is asked.  Raises StoreError.

    before: the number of cancellations when the command was given.
    """
    token = secrets.token_hex(6)
    folder = Path(launcher.get("submitit_folder") or own_logs_folder(store, sweep)).absolute() / token
    about = (user_name(), cluster, time.time(), this_owner())
    asked = Submission(sweep, 0, token, before, folder, *about, dict(launcher), settings, named())
    content = {
        "format": FORMAT,
        **{name: getattr(asked, name) for name in _PLAIN},
        "folder": str(folder),
        "owner": asked.owner.as_json(),
        "settings": settings.model_dump(mode="json"),
        "code": asked.code,
    }
    written = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode()
    number = max(_numbers(store, sweep), default=0) + 1
    while not create_once(_path(store, sweep, number), written):
        number += 1
    return replace(asked, number=number)


def decide(store: Store, sweep: str, number: int, outcome: Outcome) -> Outcome:
    """Writes the outcome of a submission without one.  Returns the one that counts.  Raises DamagedFile; StoreError."""
    create_once(_path(store, sweep, number, "outcome."), json.dumps(asdict(outcome), ensure_ascii=False).encode())
    return outcome_of(store, sweep, number) or outcome


def outcome_of(store: Store, sweep: str, number: int) -> Outcome | None:
    """The outcome of a submission; None if it is not known yet.  Raises DamagedFile; StoreError."""
    value = read_fields(_path(store, sweep, number, "outcome."), _OUTCOME_FIELDS, _ADVICE)
    return None if value is None else Outcome(*(value[name] for name in _OUTCOME_FIELDS))


def undecided(store: Store, sweep: str, before: int) -> list[int]:
    """The numbers below `before` of submissions without a known outcome.  Raises StoreError."""
    files = set(names(store.submissions_folder(sweep)))
    asked = [number for number in sorted(_numbers(store, sweep)) if number < before and f"{number}.json" in files]
    return [number for number in asked if f"{number}.outcome.json" not in files]


def read_submission(store: Store, sweep: str, number: int) -> Submission:
    """A submission, without its outcome.  Raises DamagedFile; StoreError if a later version has written it."""
    path = _path(store, sweep, number)
    value = read_mapping(path, _ADVICE)
    if value is None:
        raise StoreError(f"{path} is not there any more.")
    if isinstance(value.get("format"), int) and value["format"] != FORMAT:
        raise StoreError(f"{path} has another format than this version reads, which is {FORMAT}.")
    if fault := fault_of_fields(value, _FIELDS):
        raise DamagedFile(path, fault, _ADVICE)
    try:
        settings, owner = checked(Settings, value["settings"]), Owner.from_json(value["owner"])
    except (ConfigError, ValueError) as error:
        raise DamagedFile(path, f"holds what cannot be: {str(error).rstrip('.')}", _ADVICE) from error
    code = [str(name) for name in value.get("code") or ()]
    plain = {name: value[name] for name in _PLAIN}
    return Submission(sweep, number, folder=Path(value["folder"]), owner=owner, settings=settings, code=code, **plain)


def submissions_of(store: Store, sweep: str, unreadable: list[StoreError]) -> list[Submission]:
    """A sweep's submissions, the latest last; the errors of unreadable files are added to unreadable.

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
    """The folder of scripts and logs, one for each submission, unless the launcher's parameters name another."""
    return store.sweep_folder(sweep) / "jobs"


def _numbers(store: Store, sweep: str) -> set[int]:
    """The numbers in use, also by files that were set aside."""
    starts = (name.partition(".")[0] for name in names(store.submissions_folder(sweep)))
    return {int(start) for start in starts if start.isdecimal()}


def _path(store: Store, sweep: str, number: int, kind: str = "") -> Path:
    return store.submissions_folder(sweep) / f"{number}.{kind}json"


def was_on_slurm(store: Store, plan: Plan) -> bool:
    """Whether jobs of Slurm have, or had, packs of the sweep, or left logs.  Raises StoreError."""
    if own_logs_folder(store, plan.sweep).exists():
        return True
    leases, packs = LeaseFiles(store), {pack.id for pack in plan.packs}
    owners = (leases.owner(pack, epoch) for pack, epoch in leases.epochs().items() if pack in packs)
    return any(owner is not None and owner.job is not None for owner in owners)


def last_submission(store: Store, plan: Plan) -> Submission:
    """The latest readable submission of a sweep.  Raises StoreError with the way to go on without one."""
    unreadable: list[StoreError] = []
    if submissions := submissions_of(store, plan.sweep, unreadable):
        return submissions[-1]
    if unreadable:
        why = str(unreadable[-1])
    elif was_on_slurm(store, plan):
        why = (
            f"Sweep {plan.sweep} was given to Slurm, but {store.submissions_folder(plan.sweep)}, which says with "
            "which parameters, is missing."
        )
    else:
        raise not_on_slurm(plan)
    raise StoreError(
        f"{why} The command itself goes on, and counts the workers that are there: {in_words(plan.command)}"
    )


def not_on_slurm(plan: Plan) -> StoreError:
    """The error of commands about Slurm if local workers train the sweep."""
    return StoreError(
        f"Sweep {plan.sweep} was not given to Slurm, but trained where its command was given: Ctrl-C stops it, and "
        f"the same command, which `python -m launch status {plan.sweep}` shows, goes on."
    )


def cancellations(store: Store, sweep: str) -> int:
    """How often a sweep has been cancelled.  Raises StoreError."""
    return max((int(name) for name in names(store.cancelled_folder(sweep)) if name.isdecimal()), default=0)


def cancellations_before(store: Store, sweep: str, seconds: float) -> int:
    """How often a sweep had been cancelled that many seconds ago, when the present command began.

    Commands import for seconds before they can look. A cancellation in these seconds must hold for them too.
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
    """When a cancellation was made, by the file server's clock; long ago if it cannot be read."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def add_cancellation(store: Store, sweep: str) -> int:
    """Cancels all that was asked for so far.  Returns the number of cancellations now.  Raises StoreError."""
    content = json.dumps({"time": time.time(), "host": os.uname().nodename, "pid": os.getpid()}).encode()
    number = cancellations(store, sweep) + 1
    while not create_once(store.cancelled_folder(sweep) / str(number), content):
        number += 1
    return number


def is_cancelled(store: Store, submissions: Sequence[Submission]) -> bool:
    """Whether a sweep was cancelled, and nothing submitted since.  submissions: of one sweep, at least one."""
    often = cancellations(store, submissions[0].sweep)
    return often > 0 and not any(each.cancellations >= often and each.job is not None for each in submissions)


class Cancelled:
    """Whether a sweep has been cancelled since there were `before` cancellations.  Calling it is cheap."""

    def __init__(self, store: Store, sweep: str, before: int) -> None:
        self._next = store.cancelled_folder(sweep) / str(before + 1)
        self._looked, self._known = float("-inf"), False

    def __call__(self) -> bool:
        """As of the last LOOK_SECONDS; False if the store does not answer."""
        if not self._known and time.monotonic() - self._looked >= LOOK_SECONDS:
            self._known = self.now()
            self._looked = time.monotonic()
        return self._known

    def now(self) -> bool:
        """The same, as of this moment."""
        try:
            return self._known or stands(self._next)
        except StoreError:
            return False
