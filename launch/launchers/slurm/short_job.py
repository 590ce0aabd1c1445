"""Short jobs: they have the parameters of a sweep's workers, do one other task and write an answer."""

import contextlib
import math
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch.launchers.slurm import cluster
from launch.launchers.slurm.job_state import QUEUE_COLUMNS, JobState, states_of
from launch.launchers.slurm.submit_once import submit
from launch.wording import say
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.damage import read_fields
from plasticity_lab.records.files import names, read, write_json
from plasticity_lab.records.store import Store

LOOK_SECONDS = 1.0
LATE_SECONDS = 15.0
"""An answer may show up this long after the end of its job: file servers and their clients keep caches."""

_ADVICE = "give the command again"
_NOT_THE_TASK = re.compile(r"srun: |slurmstepd: error: \*\*\*")
"""Beginnings of lines in a log about the end of a task, without its reason."""
_WAYS_OUT = (
    (
        r"execve\(\)|command not found|: not found|No module named|ImportError|GLIBC|shared object|Illegal instruction",
        "the node needs this machine's Python and packages, {python}: put them on a file system that all nodes share, "
        "or load them in hydra.launcher.setup",
    ),
    (r"oom.kill|[Oo]ut [Oo]f [Mm]emory|MemoryError|Cannot allocate memory", "ask for more: hydra.launcher.mem_gb"),
    (r"No space left|[Qq]uota", "free some space there, or name another store"),
    (r"Permission denied|Read-only file system", "put the store where nodes can write"),
)
"""For jobs without an answer: pairs of a pattern in the log, or in the state, and the way out."""


class NoAnswer(cluster.SlurmError):
    """A job without an answer.  ended: whether it ran and ended; otherwise it waited too long."""

    def __init__(self, words: str, ended: bool) -> None:
        super().__init__(words)
        self.ended = ended


@dataclass(frozen=True)
class ShortJob:
    """The work of the job: does its task, whose result must be JSON, and writes it to the file `answer`."""

    task: Callable[[], Any]
    answer: str

    def __call__(self) -> None:
        """Does it once, even if several workers share the job."""
        if int(os.environ.get("SLURM_PROCID") or 0):
            return
        try:
            done, status = {"result": self.task()}, 0
        except PlasticityError as error:
            done, status = {"error": str(error)}, 1
        print(*done.values(), flush=True)  # for the log
        node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
        write_json(Path(self.answer), {**done, "node": node, "time": time.time()})
        sys.exit(status)  # without a result for submitit, which would be a file next to the answer


@dataclass(frozen=True)
class Answer:
    """The answer of a job.  late: seconds from its writing, by the node's clock, to its reading, by this one's."""

    result: Any
    node: str
    late: float


@dataclass(frozen=True)
class Sent:
    """A short job that was submitted.  folder: of its script, log and answer, on a disk that the nodes share."""

    job: str
    folder: Path

    @property
    def answer(self) -> Path:
        """The file that the job leaves."""
        return self.folder / "answer.json"

    @property
    def log(self) -> Path:
        """The output of the job."""
        return self.folder / f"{self.job}_0_log.out"


def send(store: Store, task: Callable[[], Any], parameters: Mapping[str, Any], minutes: int) -> Sent:
    """Submits a short job.  minutes: the most of its time limit.  Raises ConfigError, SlurmError, StoreError."""
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
    """Waits for the answer; the job is cancelled when patience, or Ctrl-C, ends the waiting.

    The files of the job are removed, except for a log that alone tells what was wrong.

    Raises NoAnswer; PlasticityError with the sentence of a task that could not be done.
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
    """Removes a short job's folder, and the folder above it if that is empty then."""
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
            if state is None:  # the answer of a job that is over may take a moment to show
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
    names(sent.folder)  # listing the folder makes a client of NFS look for new files
    value = read_fields(sent.answer, {"node": str, "time": int | float}, _ADVICE)
    if value is None:
        return None
    if "error" in value:
        raise PlasticityError(value["error"])
    return Answer(value.get("result"), value["node"], time.time() - value["time"])


def _why(sent: Sent) -> str:
    """Why a job that is over has left no answer, as far as its log and Slurm tell."""
    state = states_of([sent.job], cluster.PATIENCE_SECONDS)[0].get(sent.job)
    ended = "" if state is None else f" ({state}, on {state.nodes})"
    lines = [line for line in (read(sent.log) or b"").decode(errors="replace").splitlines() if line.strip()]
    if lines:
        last = ([line for line in lines if not _NOT_THE_TASK.match(line)] or lines)[-1]
        why = f"Job {sent.job} ended without an answer{ended}; {sent.log} ends with: {last.strip()}"
        advice = next((advice for words, advice in _WAYS_OUT if re.search(words, f"{ended} {last}")), "")
        return f"{why}; {advice.format(python=sys.executable)}." if advice else why
    if state is not None and state.state == "OUT_OF_MEMORY":
        return f"Job {sent.job} ended without a word{ended}; ask for more: hydra.launcher.mem_gb."
    return (
        f"Job {sent.job} ended without a word{ended}: the folder {sent.folder} is not there on its node, or cannot be "
        "written there; put the store, or hydra.launcher.submitit_folder, on a file system that all nodes share."
    )
