"""How far packs have come: a small file of each running pack, and what they add up to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from launch.packs.endings import REPLACED, Ending, ending_of
from launch.wording import run_steps
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping
from plasticity_lab.records.files import names, write_json
from plasticity_lab.records.plan import Pack, in_parts
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import REFILLED, flags_of_parts

_FIELDS = {"steps": int, "diverged": int, "seconds": int | float, "lately": dict, "parts": list, "refills": list}
_ADVICE = "how far its pack is shows again when the pack trains"


class Measured(Protocol):
    """The part of a journal that progress needs."""

    steps: int
    diverged: np.ndarray

    def lately(self) -> dict[str, float]:
        """What its runs measured last, by name."""
        ...


@dataclass(frozen=True)
class Progress:
    """Packs taken together.

    runs, run_steps: of all of them, run-steps being steps of each run summed over runs. runs_done: of packs that ended
    well. run_steps_done: all of packs that ended, and of the others as far as they are. diverged, failed: runs. unit:
    what run-steps are called.
    """

    runs: int
    runs_done: int
    run_steps: int
    run_steps_done: int
    diverged: int
    failed: int
    unit: str = "run-steps"


@dataclass(frozen=True)
class Reached:
    """How far one pack has come: steps of each of its runs, how many of these diverged, seconds of training.

    lately: what its runs measured last, by name, where that is told as they go. parts: by which code it was trained, as
    `training_code.parts_from` has them; none where its worker was of an earlier version. refills: the steps at which
    its replay memory began empty again.
    """

    steps: int
    diverged: int
    seconds: float
    lately: Mapping[str, float] = field(default_factory=dict)
    parts: Sequence[Mapping[str, Any]] = ()
    refills: Sequence[int] = ()

    @property
    def flags(self) -> list[str]:
        """Those that the records of its runs will have because of how it was interrupted."""
        return flags_of_parts(self.parts) + ([REFILLED] if self.refills else [])

    @property
    def kind(self) -> str | None:
        """The kind of device that trains or trained it last; None where that is not known."""
        return self.parts[-1].get("kind") if self.parts else None


NOWHERE = Reached(0, 0, 0.0)


class Watch:
    """Tells each time how far some packs, or their parts, have come; how one has ended is read once."""

    def __init__(self, store: Store, packs: Sequence[Pack]) -> None:
        self.store, self.packs = store, packs
        self.ended: dict[str, Ending] = {}

    @property
    def over(self) -> bool:
        """Whether all have ended."""
        return len(self.ended) == len(self.packs)

    def look(self) -> Progress:
        """How far they are now.  Raises StoreError."""
        marked = set(names(self.store.done_folder)) - self.ended.keys()
        self.packs = in_parts(self.store, self.packs)  # afterwards: a pack is marked as ended once it is in parts
        begun = set(names(self.store.root / "packs"))
        steps = runs_done = diverged = failed = 0
        for pack in self.packs:
            if pack.id in marked and (ending := ending_of(self.store, pack.id)) is not None:
                self.ended[pack.id] = ending
            if pack.id in self.ended:
                ending = self.ended[pack.id]
                steps += pack.run_steps
                diverged += ending.diverged
                failed += pack.width if ending.failed else 0
                runs_done += 0 if ending.failed or ending.status == REPLACED else pack.width
            elif pack.id in begun:
                now = reached(self.store, pack.id)
                steps += now.steps * pack.width
                diverged += now.diverged
        return Progress(
            runs=sum(pack.width for pack in self.packs),
            runs_done=runs_done,
            run_steps=sum(pack.run_steps for pack in self.packs),
            run_steps_done=steps,
            diverged=diverged,
            failed=failed,
            unit=run_steps({pack.unit for pack in self.packs}),
        )


def write_progress(
    store: Store,
    pack: Pack,
    journal: Measured,
    seconds: float,
    parts: Sequence[Mapping[str, Any]] = (),
    refills: Sequence[int] = (),
) -> None:
    """Says in the store how far a running pack has come, in how many seconds of training, by which code (`parts`), and
    at which steps its replay memory began empty again.  Raises StoreError.
    """
    far = {"steps": int(journal.steps), "diverged": int((journal.diverged > 0).sum()), "seconds": round(seconds, 3)}
    told = {"lately": journal.lately(), "parts": list(parts)} | ({"refills": list(refills)} if refills else {})
    write_json(store.progress(pack.id), far | told)


def read_progress(store: Store, pack: str) -> Reached | None:
    """How far a pack that has not ended has come; None where it says nothing.  Raises DamagedFile; StoreError."""
    path = store.progress(pack)
    value = read_mapping(path, _ADVICE)
    if value is None:
        return None
    known = {
        "diverged": 0,
        "seconds": 0.0,
        "lately": {},
        "parts": [],
        "refills": [],
        **value,
    }  # earlier versions did not write these
    if fault := fault_of_fields(known, _FIELDS):
        raise DamagedFile(path, fault, _ADVICE)
    lately = {name: number for name, number in known["lately"].items() if isinstance(number, int | float)}
    return Reached(known["steps"], known["diverged"], known["seconds"], lately, tuple(known["parts"]), known["refills"])


def reached(store: Store, pack: str) -> Reached:
    """The same; at its beginning where the pack says nothing, or its file is damaged.  Raises StoreError."""
    try:
        return read_progress(store, pack) or NOWHERE
    except DamagedFile:
        return NOWHERE
