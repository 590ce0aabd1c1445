"""What Slurm was asked for, for a sweep, in the store: files that are created once, so that no writer undoes another.

`submissions/3.json` is written before sbatch is called, `3.outcome.json` once it is known what came of it: by the
command itself, by the first worker, or by a later command that finds it dead. Who creates it first decides. Jobs are
known by a token that no other job has, in their comment and in the name of their script's folder (see `mark`): Slurm
gives the same number to another job after its own were reset, and so does another cluster.
"""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from launch.launchers.slurm.cancellation import cancellations
from launch.packs.lease_files import LeaseFiles
from launch.packs.owner import Owner, this_owner
from launch.packs.sweep import in_words
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.named_code import named
from plasticity_lab.process.account import user_name
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping
from plasticity_lab.records.files import create_once, names
from plasticity_lab.records.plan import Plan
from plasticity_lab.records.settings import Settings, checked
from plasticity_lab.records.store import Store

FORMAT = 1
_FIELDS = {
    "format": int,
    "token": str,
    "cancellations": int,
    "folder": str,
    "user": str,
    "cluster": str | None,
    "time": int | float,
    "owner": dict,
    "launcher": dict,
    "settings": dict,
}
_OUTCOME_FIELDS = {"job": str | None, "jobs": int, "why": str}
_ADVICE = (
    "its jobs are known by their comment, which `squeue --me --format='%i %k'` shows: leave the file, the sweep's "
    "command sets it aside, and `python -m launch cancel` finds the jobs without it"
)


@dataclass(frozen=True)
class Outcome:
    """What came of a submission.  job: the array, None where there is none. jobs: of it. why: there is no job."""

    job: str | None
    jobs: int = 0
    why: str = ""


@dataclass(frozen=True)
class Submission:
    """Workers that Slurm was asked for.

    number: 1 for the first of its sweep. token: by which its jobs are known. cancellations: how often the sweep had
    been cancelled. folder: of its script and logs. user, cluster, time: who asked, where (if known), and when. owner:
    the process that submits. launcher, settings: the launcher's parameters and those of the command, to start the same
    workers again. code: the packages and folders from outside the package that its command named (see `named_code`);
    older ones do not say. outcome: None as long as it is not known.
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
    outcome: Outcome | None = None
    code: Sequence[str] = ()

    @property
    def job(self) -> str | None:
        """Its array, if it is known to have one."""
        return None if self.outcome is None else self.outcome.job


def ask(
    store: Store, sweep: str, launcher: Mapping[str, Any], settings: Settings, before: int, cluster: str | None
) -> Submission:
    """Writes that Slurm is about to be asked for workers, with the next number.  Raises StoreError.

    before: how often the sweep had been cancelled when the command was given.
    """
    token = secrets.token_hex(6)
    folder = logs_folder(store, sweep, launcher) / token
    asked = Submission(
        sweep, 0, token, before, folder, user_name(), cluster, time.time(), this_owner(), launcher, settings
    )
    content = {
        "format": FORMAT,
        **{name: getattr(asked, name) for name in ("token", "cancellations", "user", "cluster", "time")},
        "folder": str(folder),
        "owner": this_owner().as_json(),
        "launcher": dict(launcher),
        "settings": settings.model_dump(mode="json"),
        "code": named(),
    }
    written = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode()
    number = max(_numbers(store, sweep), default=0) + 1
    while not create_once(_asked(store, sweep, number), written):
        number += 1
    return replace(asked, number=number)


def decide(store: Store, sweep: str, number: int, outcome: Outcome) -> Outcome:
    """Writes what came of a submission, unless that is known.  Returns what counts.  Raises DamagedFile; StoreError."""
    create_once(_outcome(store, sweep, number), json.dumps(vars(outcome), ensure_ascii=False).encode())
    return outcome_of(store, sweep, number) or outcome


def outcome_of(store: Store, sweep: str, number: int) -> Outcome | None:
    """What came of a submission; None as long as it is not known.  Raises DamagedFile; StoreError."""
    path = _outcome(store, sweep, number)
    value = read_mapping(path, _ADVICE)
    if value is None:
        return None
    if fault := fault_of_fields(value, _OUTCOME_FIELDS):
        raise DamagedFile(path, fault, _ADVICE)
    return Outcome(*(value[name] for name in _OUTCOME_FIELDS))


def undecided(store: Store, sweep: str, before: int) -> list[int]:
    """The numbers below `before` of submissions of which it is not known what came of them.  Raises StoreError."""
    there = names(store.submissions_folder(sweep))
    asked = {int(name.removesuffix(".json")) for name in there if name.removesuffix(".json").isdecimal()}
    known = {int(name.removesuffix(".outcome.json")) for name in there if name.endswith(".outcome.json")}
    return sorted(number for number in asked - known if number < before)


def read_submission(store: Store, sweep: str, number: int) -> Submission:
    """One of a sweep's submissions, without its outcome.  Raises DamagedFile; StoreError for one of a later version."""
    path = _asked(store, sweep, number)
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
    known = {name: value[name] for name in ("token", "cancellations", "user", "cluster", "time", "launcher")}
    return Submission(sweep, number, folder=Path(value["folder"]), owner=owner, settings=settings, code=code, **known)


def submissions_of(store: Store, sweep: str, unreadable: list[StoreError]) -> list[Submission]:
    """A sweep's submissions, the latest last; why one cannot be read goes to unreadable.

    Raises StoreError if the disk does not answer.
    """
    found = []
    for number in sorted(_numbers(store, sweep)):
        if _asked(store, sweep, number).exists():
            try:
                found.append(read_submission(store, sweep, number))
                found[-1] = replace(found[-1], outcome=outcome_of(store, sweep, number))
            except StoreError as error:
                unreadable.append(error)
    return found


def is_cancelled(store: Store, submissions: Sequence[Submission]) -> bool:
    """Whether a sweep was cancelled, and nothing submitted since.  submissions: of one sweep, not none."""
    often = cancellations(store, submissions[0].sweep)
    return often > 0 and not any(each.cancellations >= often and each.job is not None for each in submissions)


def logs_folder(store: Store, sweep: str, launcher: Mapping[str, Any]) -> Path:
    """Where scripts and logs of jobs lie, unless the launcher's parameters name a place: beside the plan.

    Each submission has a folder of its own there.
    """
    return Path(launcher.get("submitit_folder") or own_logs_folder(store, sweep)).absolute()


def own_logs_folder(store: Store, sweep: str) -> Path:
    """Scripts and logs lie here, unless the launcher's parameters name another folder."""
    return store.sweep_folder(sweep) / "jobs"


def _numbers(store: Store, sweep: str) -> set[int]:
    """The numbers that are used, also by files that were set aside."""
    starts = (name.partition(".")[0] for name in names(store.submissions_folder(sweep)))
    return {int(start) for start in starts if start.isdecimal()}


def _asked(store: Store, sweep: str, number: int) -> Path:
    return store.submissions_folder(sweep) / f"{number}.json"


def _outcome(store: Store, sweep: str, number: int) -> Path:
    return store.submissions_folder(sweep) / f"{number}.outcome.json"


def was_on_slurm(store: Store, plan: Plan) -> bool:
    """Whether jobs of Slurm's have, or had, packs of the sweep, or left logs.  Raises StoreError."""
    if (store.sweep_folder(plan.sweep) / "jobs").exists():
        return True
    leases, packs = LeaseFiles(store), {pack.id for pack in plan.packs}
    owners = (leases.owner(pack, epoch) for pack, epoch in leases.epochs().items() if pack in packs)
    return any(owner is not None and owner.job is not None for owner in owners)


def last_submission(store: Store, plan: Plan) -> Submission:
    """The latest submission of a sweep that can be read.  Raises StoreError that says how to go on without one."""
    unreadable: list[StoreError] = []
    found = submissions_of(store, plan.sweep, unreadable)
    if found:
        return found[-1]
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
    """What is said of a sweep that local workers train."""
    return StoreError(
        f"Sweep {plan.sweep} was not given to Slurm, but trained where its command was given: Ctrl-C stops it, and "
        f"the same command, which `python -m launch status {plan.sweep}` shows, goes on."
    )
