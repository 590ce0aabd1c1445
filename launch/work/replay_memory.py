"""How a worker stores the replay memory of a pack, so that a resumed run has it again.

Every checkpoint holds a small memory. A large one has a log next to the checkpoints (`records/bulk_log.py`), which is
written together with a checkpoint. That happens at the first checkpoint of a worker, when little has been added. It
happens again when `replay_memory_minutes` of training would be lost, and when the worker is stopped and has the time.
In between there are no checkpoints: after a kill, a pack goes back to the last one and keeps its memory. If a memory
cannot be written, checkpoints are written without it. A run that resumes from one of them starts with an empty memory.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from launch.packs.leases import Lease
from launch.wording import in_bytes, in_time
from plasticity_lab.records.bulk import Bulk, as_tensors, bytes_of, filled_from
from plasticity_lab.records.bulk_log import Log, append, bytes_to_write, read, tidy
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.files import StoreFault
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.work.worker")
RESERVE_SECONDS = 5.0
"""Time kept for the checkpoint itself and for ending."""


class TooLittleTime(Exception):
    """A replay memory that cannot be written before the worker is ended."""


class ReplayMemory:
    """Keeps the replay memory of a pack in the store.

    seconds_left: seconds until the worker is ended; infinite if it is not being ended. refills: the steps where runs
    continued with an empty memory.
    """

    def __init__(self, store: Store, lease: Lease, settings: Settings, seconds_left: Callable[[], float]) -> None:
        self.store, self.lease, self.seconds_left = store, lease, seconds_left
        self.large_from = settings.replay_memory_mib * 2**20
        minutes = settings.replay_memory_minutes
        self.worth = None if minutes is None else 60 * minutes
        self.refills: list[int] = []
        self._log: Log | None = None  # the log in the store
        self._kept = time.monotonic()  # the time of the state that is restored after a kill
        self._has_kept = False  # whether this worker has written a checkpoint with its memory
        self._bytes_a_second = 0.0

    def restored(self, begun: Mapping[str, Any], bulk: Bulk, step: int) -> Bulk | None:
        """The memory of a checkpoint, read into the arrays of a learner; None, with a warning, if it is lost.

        step: the runs continue from this step.  Raises StoreError.
        """
        self.refills = list(begun.get("refills", []))
        if not bulk:
            return {}
        memory, why = filled_from(bulk, begun.get("bulk", {})), "its checkpoint was written without it"
        if memory is None and begun.get("memory") is not None:
            try:
                known = Log.of_json(begun["memory"])
                memory, self._log = read(self.store, self.lease.pack, known, bulk), known
            except DamagedFile as error:
                why = str(error)
        if memory is None:
            self.refills.append(step)
            log.warning(
                "The replay memory of pack %s begins empty at step %s, and its records will say so: %s.",
                self.lease.pack,
                f"{step:,}",
                why.rstrip("."),
            )
        self._kept = time.monotonic()
        return memory

    def to_keep(self, bulk: Bulk, stopping: bool) -> dict[str, Any] | None:
        """The part of a checkpoint about the memory; writes the log first if it is due.

        None: write no checkpoint now, since going back to the last one with its memory loses little. stopping: whether
        the worker stops.  Raises StoreError.
        """
        with_refills = {"refills": list(self.refills)} if self.refills else {}
        if bytes_of(bulk) < self.large_from or not bulk:
            return {"bulk": as_tensors(bulk), **with_refills}
        # A worker's first checkpoint is always due: a pack counts as at fault if its workers vanish without one.
        is_due = self.worth is not None and not (self._has_kept and self._loses_little())
        if not (stopping or is_due):
            return None if self._loses_little() else {"memory": None, **with_refills}
        try:
            self._log = self._written(bulk)
        except (TooLittleTime, StoreFault) as error:
            if isinstance(error, StoreFault) and not stopping:
                raise
            back = self._loses_little()
            so = "goes back to the checkpoint before" if back else "goes on with an empty replay memory"
            log.warning("%s Pack %s %s.", error, self.lease.pack, so)
            return None if back else {"memory": None, **with_refills}
        return {"memory": self._log.as_json(), **with_refills}

    def is_kept(self, content: Mapping[str, Any]) -> None:
        """Called after a checkpoint with the result of `to_keep` is written; removes the parts it has replaced.

        Raises LostLease, StoreError.
        """
        if content.get("memory") is None or self._log is None:
            return
        self._kept, self._has_kept = time.monotonic(), True
        self.lease.beat(surely=True)  # a successor's checkpoints name parts that were written here
        tidy(self.store, self.lease.pack, self.lease.epoch, self._log)

    def _loses_little(self) -> bool:
        """Whether going back to the last checkpoint with its memory loses less training than writing is worth."""
        return self.worth is not None and time.monotonic() - self._kept < self.worth

    def _written(self, bulk: Bulk) -> Log:
        """The log with the memory appended.  Raises TooLittleTime as soon as that is known; StoreError."""
        total, began = bytes_to_write(bulk, self._log), time.monotonic()

        def watch(done: int, of: int) -> None:
            if done:
                self._bytes_a_second = done / max(1e-3, time.monotonic() - began)
            left = self.seconds_left() - RESERVE_SECONDS
            needed = (of - done) / self._bytes_a_second if self._bytes_a_second else 0.0
            if needed > left:
                raise TooLittleTime(
                    f"Writing {in_bytes(of - done)} of replay memory takes {in_time(needed)}, and "
                    f"{in_time(max(0.0, left))} are left for it."
                )

        watch(0, total)
        return append(self.store, self.lease.pack, self.lease.epoch, bulk, self._log, watch)
