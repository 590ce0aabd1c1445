"""How far packs have come: a small file of each running pack, and what they add up to."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from launch.planner import Pack
from plasticity_lab.records.files import read, write_json
from plasticity_lab.records.store import Store


class Measured(Protocol):
    """The part of a journal that progress needs."""

    steps: int
    diverged: np.ndarray


@dataclass(frozen=True)
class Progress:
    """Packs taken together. runs and run_steps count whole packs that ended and running packs as far as they are."""

    runs: int
    runs_done: int
    run_steps: int
    run_steps_done: int
    packs_done: int
    diverged: int
    failed: int


def write_progress(store: Store, pack: Pack, journal: Measured) -> None:
    """Says in the store how many steps a running pack has done.  Raises StoreError."""
    write_json(
        store.progress(pack.id),
        {"steps": int(journal.steps), "diverged": int((journal.diverged > 0).sum())},
    )


def progress_of(store: Store, packs: Sequence[Pack]) -> Progress:
    """What the packs have done together, from the store alone."""
    runs_done = steps_done = packs_done = diverged = failed = 0
    for pack in packs:
        ended = read(store.done(pack.id))
        if ended is not None:
            packs_done += 1
            steps_done += pack.run_steps
            if json.loads(ended).get("status") == "failed":
                failed += pack.width
            else:
                runs_done += pack.width
            continue
        content = read(store.progress(pack.id))
        if content is not None:
            now = json.loads(content)
            steps_done += now["steps"] * pack.width
            diverged += now["diverged"]
    return Progress(
        runs=sum(pack.width for pack in packs),
        runs_done=runs_done,
        run_steps=sum(pack.run_steps for pack in packs),
        run_steps_done=steps_done,
        packs_done=packs_done,
        diverged=diverged,
        failed=failed,
    )
