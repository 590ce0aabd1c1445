"""Short jobs: they have the parameters of a sweep's workers, do one task and write an answer."""

import contextlib
import math
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from launch.launchers.slurm import cluster
from launch.launchers.slurm.cluster import QUEUE_COLUMNS, JobState, states_of
from launch.launchers.slurm.submit_once import submit, way_out
from launch.wording import say
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.damage import read_as
from plasticity_lab.records.files import names, read, write_json
from plasticity_lab.records.store import Store

LOOK_SECONDS = 1.0
LATE_SECONDS = 15.0
"""An answer may appear up to this time after the end of its job: file servers and their clients have caches."""

_ADVICE = "give the command again"
_NOT_THE_TASK = re.compile(r"srun: |slurmstepd: error: \*\*\*")
"""Matches log lines that report the end of a task without its reason."""


class NoAnswer(cluster.SlurmError):
    """A job gave no answer.  ended: True if it ran and ended; False if waiting for it was given up."""

    def __init__(self, words: str, ended: bool) -> None:
        super().__init__(words)
        self.ended = ended


@dataclass(frozen=True)
class ShortJob:
    """The work of a short job: runs its task, and writes the result, which must be JSON, to the file `answer`."""

    task: Callable[[], Any]
    answer: str

    def __call__(self) -> None:
        """Runs the task once, even if several workers share the job."""
        if int(os.environ.get("SLURM_PROCID") or 0):
            return
        try:
            done, status = {"result": self.task()}, 0
        except PlasticityError as error:
            done, status = {"error": str(error)}, 1
        print(*done.values(), flush=True)  # for the log
        node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
        write_json(Path(self.answer), {**done, "node": node, "time": time.time()})
        sys.exit(status)  # without a result for submitit, which would write a file next to the answer


@dataclass(frozen=True)
class Answer:
    """The answer of a job, with the result of its task or the message of a failed task.

    node: the name of the job's node. time: when it was written, by the node's clock. late: the seconds from then to the
    time of reading by this machine's clock.
    """

    node: str
    time: float
    result: Any = None
    error: str | None = None
    late: float = 0.0


@dataclass(frozen=True)
class Sent:
    """A submitted short job.  folder: the folder of its script, log and answer, on a disk that the nodes share."""

    job: str
    folder: Path

    @property
    def answer(self) -> Path:
        """The file with the answer that the job writes."""
        return self.folder / "answer.json"

    @property
    def log(self) -> Path:
        """The file with the output of the job."""
        return self.folder / f"{self.job}_0_log.out"


def send(store: Store, task: Callable[[], Any], parameters: Mapping[str, Any], minutes: int) -> Sent:
    """Submits a short job.  minutes: the upper bound of its time limit.  Raises ConfigError, SlurmError, StoreError."""
    cluster.check_there()
    cluster.check_partition(parameters["partition"])
    name, above = secrets.token_hex(6), parameters["submitit_folder"]
    folder = Path(above).absolute() / name if above else store.short_job_folder(name)
    limit = min(minutes, parameters["timeout_min"])
    own = {**parameters, "submitit_folder": None, "timeout_min": limit, "stderr_to_stdout": True}
    try:
        job = submit(folder, ShortJob(task, str(folder / "answer.json")), 1, own)
    except PlasticityError:
        clear(folder)
        raise
    return Sent(job, folder)


def answer_to(sent: Sent, patience_seconds: float) -> Answer:
    """Waits for the answer. If the time is up, or on Ctrl-C, the job is cancelled.

    Afterwards the files of the job are removed. If the job ended without an answer, they stay, since only the log tells
    the reason.

    Raises NoAnswer; PlasticityError with the message of a failed task.
    """
    try:
        return _awaited(sent, time.monotonic() + patience_seconds)
    except KeyboardInterrupt:
        raise NoAnswer(f"Job {sent.job} was not waited for; it is cancelled.", False) from None
    finally:
        over = sent.answer.exists()
        if not over and _living_state(sent.job) is not None:
            cluster.cancel([sent.job])
            over = True
        if over:
            clear(sent.folder)


def clear(folder: Path) -> None:
    """Removes a short job's folder, and its parent folder if that is empty afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def _awaited(sent: Sent, end: float) -> Answer:
    last_said, too_late = "", math.inf
    while (answer := _answer(sent)) is None:
        if time.monotonic() > too_late:
            raise NoAnswer(_why(sent), True)
        if too_late == math.inf:
            state = _living_state(sent.job)
            if state is None:  # the job is over; its answer may take a moment to appear
                too_late = time.monotonic() + LATE_SECONDS
                continue
            if str(state) != last_said:
                last_said = str(state)
                say(f"Job {sent.job} {last_said}.")
            if time.monotonic() > end:
                words = f"Job {sent.job} still {state}; it was not waited for any longer, and is cancelled."
                raise NoAnswer(words, False)
        time.sleep(LOOK_SECONDS)
    return answer


def _living_state(job: str) -> JobState | None:
    """The state of a job; None if it is over.  Raises SlurmError."""
    states = [JobState.reported(*row) for row in cluster.queue(QUEUE_COLUMNS, f"--jobs={job}")]
    return next((state for state in states if state.lives), None)


def _answer(sent: Sent) -> Answer | None:
    names(sent.folder)  # listing the folder makes an NFS client check for new files
    answer = read_as(Answer, sent.answer, _ADVICE)
    if answer is not None and answer.error is not None:
        raise PlasticityError(answer.error)
    return None if answer is None else replace(answer, late=time.time() - answer.time)


def _why(sent: Sent) -> str:
    """A message with the reason why a job ended without an answer, as far as its log and Slurm show it."""
    state = states_of([sent.job], cluster.PATIENCE_SECONDS)[0].get(sent.job)
    ended = "" if state is None else f" ({state}, on {state.nodes})"
    lines = [line for line in (read(sent.log) or b"").decode(errors="replace").splitlines() if line.strip()]
    if lines:
        last = ([line for line in lines if not _NOT_THE_TASK.match(line)] or lines)[-1]
        why = f"Job {sent.job} ended without an answer{ended}; {sent.log} ends with: {last.strip()}"
        advice = way_out("no_answer", f"{ended} {last}")
        return f"{why}; {advice.format(python=sys.executable)}." if advice else why
    if state is not None and state.state == "OUT_OF_MEMORY":
        return f"Job {sent.job} ended without a word{ended}; ask for more: hydra.launcher.mem_gb."
    return (
        f"Job {sent.job} ended without a word{ended}: the folder {sent.folder} is not there on its node, or cannot be "
        "written there; put the store, or hydra.launcher.submitit_folder, on a file system that all nodes share."
    )
