"""How packs ended: what their workers wrote into the store's `done` folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from plasticity_lab.records.files import read
from plasticity_lab.records.store import Store


@dataclass(frozen=True)
class Ending:
    """status: done, failed or divided; error says in a line why it is not done. diverged: how many of its runs did."""

    status: str
    error: str
    diverged: int

    @property
    def failed(self) -> bool:
        """Whether its runs are recorded as failed."""
        return self.status == "failed"

    def as_json(self) -> dict[str, object]:
        """What the lease is finished with."""
        return {"status": self.status, "error": self.error, "diverged": self.diverged}


def ending_of(store: Store, pack: str) -> Ending | None:
    """How a pack ended; None while it has not.  A damaged file still says that it has.  Raises StoreError."""
    content = read(store.done(pack))
    if content is None:
        return None
    try:
        value = json.loads(content)
    except ValueError:
        value = None
    known = value if isinstance(value, Mapping) else {}
    return Ending(str(known.get("status")), str(known.get("error") or ""), int(known.get("diverged") or 0))
