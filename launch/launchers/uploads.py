"""What a command waits for when all its runs are trained: that its workers have written them to W&B."""

from collections.abc import Sequence

from launch.tracking.marks import count_written, destination_of
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store


class Uploads:
    """How many runs the workers have written to W&B, as the store notes it pack by pack."""

    def __init__(self, store: Store, tracking: TrackingSettings) -> None:
        self._store, self._destination = store, destination_of(tracking)
        self._complete = 0

    def words(self, packs: Sequence[Pack]) -> str:
        """«writing them to W&B: 12 of 57 runs».  packs: all have ended.  Raises StoreError."""
        if self._destination is None:
            return "the workers are ending"
        runs = sum(pack.width for pack in packs)
        if self._complete < runs:
            self._complete = count_written(self._store, [pack.id for pack in packs], self._destination)
        return f"writing them to W&B: {self._complete:,} of {runs:,} runs"
