"""How a worker handles a pack that cannot be trained, so that no run fails because of another run's fault.

An exception in a stacked step does not name the run that caused it. So the pack is divided, and its halves are trained
like any other packs. A run at fault is soon alone and fails; the others finish. A pack that runs out of memory is
divided too. If a few runs have failed alone with the same error, the others fail without division.

A killed worker cannot say why. Lost machines and kills from outside are no run's fault. A kill counts against a run
only if the kernel or Slurm says that memory ran out, or if it happens again and again.
"""

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from launch.packs.endings import ending_of
from launch.packs.leases import Lease, Leases
from launch.packs.owner import Owner
from launch.packs.progress import reached
from launch.work.process import ran_out_of_memory
from launch.work.recording import divide, leave_failures
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.plan import Pack, Plan, in_parts
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.work.worker")
ALIKE = 4
"""If this many runs have failed alone with the same error, and no similar run got further, all similar runs fail."""
DIVIDED_AFTER = 2
"""Workers in turn that vanish from a pack without a checkpoint before it is divided, which costs nothing. Also the
number that are killed for lack of memory without a checkpoint in between."""
FAILED_AFTER = 3
"""Workers in turn that are killed for lack of memory, without a checkpoint in between, before a run alone fails."""
UNEXPLAINED = 10
"""Workers in turn that vanish without a known reason before a run fails. Chance does not hit one run that often within
seconds of its start. A run that ends its process each time (a fault of a library) would take every worker in the end.
"""
_ALL = (
    "The {} runs of this pack failed together. The pack was not divided to find the runs at fault: {} runs of "
    "{} or more had failed alone with the same error, and none had got further."
)


@dataclass(frozen=True)
class Failure:
    """Why a pack cannot be trained.

    words: the reason in a line. alone: the reason if a single run failed. whole: the reason with the traceback.
    """

    words: str
    alone: str
    whole: str


def failure_of(error: Exception) -> Failure:
    """The failure that an exception means."""
    if ran_out_of_memory(error):
        alone = "Out of memory with one run alone; choose another device or a smaller benchmark.batch_size."
        return Failure("out of memory", alone, alone)
    if isinstance(error, PlasticityError):
        return Failure(str(error), str(error), str(error))
    words = traceback.format_exception_only(error)[-1].strip()
    return Failure(words, words, "".join(traceback.format_exception(error)))


Died = Callable[[Owner], bool]
"""Whether the owner of a lease is known to have been killed because memory ran out; may take some seconds."""


class WorkersVanished(PlasticityError):
    """One worker after another has vanished from a pack."""


class Failures:
    """The failures of packs that one worker meets; its log gets a line for each kind of failure."""

    def __init__(self, store: Store, leases: Leases, died_of_memory: Died) -> None:
        self.store, self.leases, self.died_of_memory = store, leases, died_of_memory
        self._told: set[str] = set()

    def look_back(self, pack: Pack, lease: Lease) -> None:
        """Raises WorkersVanished if too many workers have vanished from the pack; StoreError."""
        last = latest_epoch(self.store, pack.id)
        gone, of_memory = self.leases.vanished(lease, last, self.died_of_memory)
        if of_memory >= (DIVIDED_AFTER if pack.width > 1 else FAILED_AFTER):
            raise WorkersVanished(f"{of_memory} workers in turn were killed because memory ran out.")
        if gone >= (DIVIDED_AFTER if pack.width > 1 and last < 0 else UNEXPLAINED):
            raise WorkersVanished(
                f"{gone} workers in turn have vanished without a word, as happens where memory runs out."
            )

    def meet(self, plan: Plan, pack: Pack, lease: Lease, failure: Failure) -> bool:
        """Divides the pack, or records its runs as failed if division would tell no more.  Returns whether it did that.

        Raises LostLease, StoreError.
        """
        if pack.width > 1 and not self._all_alike(plan, pack, failure):
            self._say(logging.INFO, "A pack of %s is divided: %s", pack.family, failure.words)
            divide(self.store, pack, lease, failure.words)
            return False
        whole = failure.whole
        if pack.width > 1:
            whole = f"{_ALL.format(pack.width, ALIKE, pack.family)}\n{whole}"
        self._say(logging.ERROR, "A run of %s failed: %s", pack.family, failure.alone)
        leave_failures(self.store, pack, plan.runs_of(pack), lease, failure.alone, whole)
        return True

    def _all_alike(self, plan: Plan, pack: Pack, failure: Failure) -> bool:
        """Whether all runs of the pack's family count as failing, since some of them failed alone with this error."""
        here, alone = reached(self.store, pack.id).steps, 0
        for other in in_parts(self.store, plan.packs):
            if other.family != pack.family or other.id == pack.id:
                continue
            ending = ending_of(self.store, other.id)
            if ending is None:
                if reached(self.store, other.id).steps > here:
                    return False
            elif ending.status == "done":
                return False
            elif other.width == 1 and ending.error == failure.alone:
                alone += 1
        return alone >= ALIKE

    def _say(self, level: int, words: str, *what: str) -> None:
        line = words % what
        if line not in self._told:
            self._told.add(line)
            log.log(level, "%s", line)
