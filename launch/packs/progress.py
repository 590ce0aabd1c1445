"""How far packs have come: a small file of each running pack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping, write_mapping
from plasticity_lab.records.plan import Pack
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
class Reached:
    """How far one pack has come: steps of each of its runs, how many of these diverged, seconds of training.

    lately: what its runs measured last, by name, where it is reported. parts: by which code it was trained, as
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
    further = {"lately": journal.lately(), "parts": list(parts)} | ({"refills": list(refills)} if refills else {})
    write_mapping(store.progress(pack.id), far | further)


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
    return Reached(
        known["steps"], known["diverged"], known["seconds"], lately, tuple(known["parts"]), tuple(known["refills"])
    )


def reached(store: Store, pack: str) -> Reached:
    """The same; at its beginning where the pack says nothing, or its file is damaged.  Raises StoreError."""
    try:
        return read_progress(store, pack) or NOWHERE
    except DamagedFile:
        return NOWHERE
