"""How long a replay memory takes to be written and read, and how much memory that takes beside its own.

    python -m tests.helpers.timed_memory FOLDER 20000 141000      frames of 84 × 84 bytes, in memories of four runs

FOLDER is made on the disk that is asked about, and removed. Prints a line for each number of frames.
"""

import shutil
import sys
import threading
import time
from pathlib import Path

import numpy as np

from launch.bench.frames import resident
from plasticity_lab.records.bulk import Entries, bytes_of
from plasticity_lab.records.bulk_log import append, read
from plasticity_lab.records.store import Store

RUNS, LOOK_SECONDS = 4, 0.005
MB = 1_000_000


class Peak:
    """The most that this process had in memory while something was done, beyond what it had before; and its seconds."""

    def __enter__(self) -> "Peak":
        self.before = self.most = resident()
        self.began, self.over = time.monotonic(), threading.Event()
        self.looking = threading.Thread(target=self._look)
        self.looking.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = time.monotonic() - self.began
        self.over.set()
        self.looking.join()

    def _look(self) -> None:
        while not self.over.wait(LOOK_SECONDS):
            self.most = max(self.most, resident())

    def __str__(self) -> str:
        return f"{self.seconds:6.2f} s, {(self.most - self.before) / MB:6.1f} MB more"


def main(folder: Path, frames: int) -> None:
    """frames: of all runs together."""
    store = Store(folder)
    frames_KC = np.empty((RUNS, frames // RUNS, 84, 84), np.uint8)
    frames_KC[:] = np.arange(frames // RUNS, dtype=np.uint8)[None, :, None, None]  # every page is there
    entries = frames_KC.swapaxes(0, 1)
    memory = {"frames": Entries(entries, 3 * len(entries))}
    with Peak() as written:
        log = append(store, "pack", 0, memory, None)
    tenth = {"frames": Entries(entries, 3 * len(entries) + len(entries) // 10)}
    with Peak() as appended:
        append(store, "pack", 0, tenth, log)
    with Peak() as brought_back:
        read(store, "pack", log, memory)
    print(f"{bytes_of(memory) / MB:8,.0f} MB: written {written}; a tenth appended {appended}; read {brought_back}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    for count in sys.argv[2:]:
        main(Path(sys.argv[1]), int(count))
