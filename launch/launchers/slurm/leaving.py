"""How a worker that must go leaves its job: back into the queue, or killed by Slurm.

Slurm's controller may be away just then, refuse the order, or be killed and forget the order; the command that gives it
may be killed, too. So the order is given again until Slurm has taken it, or ends the job. A job
that was cancelled is left alone: as long as its processes end, Slurm would take the order and start it again.
"""

import logging
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from launch.launchers.slurm import cluster
from launch.wording import in_time

log = logging.getLogger("launch.launchers.slurm.job")
LONGEST_GRACE_SECONDS = 3600.0
"""A worker that Slurm neither ends nor takes back, though it answers, ends by itself after this time."""
GRACE_LOOK_SECONDS = 60.0
"""How often Slurm is asked whether it ends the job; longer than it usually waits to kill (KillWait)."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 10.0
"""Between two orders. They are short: a controller that comes back soon ends jobs that are past their time limit."""
_SHARE = 1 - os.getpid() % 50 / 100
"""How much of a pause this process waits, so that not all workers ask a controller that comes back at once."""
LOOK_SECONDS = 1.0
"""How soon a worker that waits notices a signal, or that its sweep is cancelled."""


@dataclass(frozen=True)
class Standing:
    """A job as Slurm sees it.  restarts: how often it has been put back into the queue.

    goes_on: Slurm does not end it now. time_is_up: Slurm ends it for its time limit. makes_room: it has a grace time.
    """

    restarts: int
    goes_on: bool
    time_is_up: bool
    makes_room: bool


def standing(job: str) -> Standing:
    """A job by Slurm's answer.  Raises SlurmError."""
    said = cluster.ask("scontrol", "show", "job", job)
    restarts = re.search(r"\bRestarts=(\d+)", said)
    return Standing(
        restarts=int(restarts[1]) if restarts else 0,
        goes_on="JobState=RUNNING" in said,
        time_is_up="Reason=TimeLimit" in said,
        makes_room=re.search(r"\bPreemptTime=\d", said) is not None,
    )


def leave(job: str, restart: int, back: Callable[[], bool], cancelled: Callable[[], bool]) -> int:
    """Waits until Slurm ends this process, and asks for the queue if `back`.  Returns a status if it does not.

    restart: how often the job had been put back when this process began. back: whether it is to go back into the
    queue; Slurm brings back a preempted job without being asked. cancelled: whether the sweep is.
    """
    waits, pause, said = 0.0 if back() else GRACE_LOOK_SECONDS, FIRST_PAUSE_SECONDS, ""
    log.info("Back into the queue." if back() else "The checkpoint is written; waiting for Slurm to end the job.")
    end = time.monotonic() + LONGEST_GRACE_SECONDS
    while time.monotonic() < end:
        if _cancelled_within(waits, back, cancelled):
            log.info("The sweep was cancelled; this worker ends.")
            return 0
        waits, answers = GRACE_LOOK_SECONDS, False
        try:
            now = standing(job)
            answers = True
            if now.restarts > restart:
                log.info("Job %s is in the queue again, or runs elsewhere; this process of it ends.", job)
                return 1
            if back() and (now.goes_on or now.time_is_up):
                cluster.requeue(job)
            elif now.goes_on and not now.makes_room:
                log.warning("Slurm lets the job go on: it was asked to end by somebody else, and ends by itself.")
                return 1
        except cluster.SlurmError as error:
            if not back():
                continue
            if str(error) != said:
                said = str(error)
                log.warning("%s; the job asks again until Slurm takes it back, or ends it.", said.rstrip("."))
            waits, pause = pause * _SHARE, min(2 * pause, LONGEST_PAUSE_SECONDS)
            if not answers:
                end = time.monotonic() + LONGEST_GRACE_SECONDS
    log.error("Slurm has neither ended job %s nor taken it back for %s.", job, in_time(LONGEST_GRACE_SECONDS))
    return 1


def _cancelled_within(seconds: float, back: Callable[[], bool], cancelled: Callable[[], bool]) -> bool:
    """Waits, no longer than `back` stays as it is.  Returns whether the sweep is cancelled."""
    end, before = time.monotonic() + seconds, back()
    while not cancelled() and back() == before and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))
    return cancelled()
