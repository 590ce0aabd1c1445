"""The progress of campaigns: a small file that is carried from one campaign to the next."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from launch.campaign.entry import Entry
from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import write_json

TODO, BEGUN, PART, DONE, FAILED = "to do", "begun", "partly done", "done", "failed"
TRIES, LOST = 3, 20
"""After `TRIES` failures, or `LOST` campaigns that were killed during an entry, it is not begun again."""


@dataclass(frozen=True)
class Progress:
    """How far an entry is.

    status: `BEGUN` while it runs, and after a campaign that was killed. at: its next command or sweep. tries: how often
    it failed, or did not end in its time. lost: how many campaigns were killed during it. minutes: its time so far.
    digest: the digest of its commands.
    """

    status: str = TODO
    at: int = 0
    tries: int = 0
    lost: int = 0
    minutes: float = 0.0
    digest: str = ""


@dataclass
class State:
    """The progress of each entry by name, and the campaigns so far."""

    path: Path
    entries: dict[str, Progress] = field(default_factory=dict)
    campaigns: list[dict[str, Any]] = field(default_factory=list)

    @staticmethod
    def of(path: Path) -> "State":
        """The stored state; a new one if the file is missing.  Raises StoreError for a file that no campaign wrote."""
        if not path.exists():
            return State(path)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            entries = {name: Progress(**progress) for name, progress in content["entries"].items()}
            return State(path, entries, list(content["campaigns"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{path} is no state of a campaign ({error!r}); move it away to begin again.") from error

    def progress(self, entry: Entry) -> Progress:
        """How far an entry is; not begun if its commands are others now."""
        found = self.entries.get(entry.name)
        return found if found and found.digest == entry.digest else Progress(digest=entry.digest)

    def is_open(self, entry: Entry) -> bool:
        """Whether it can be begun or continued."""
        found = self.progress(entry)
        return found.status != DONE and found.tries < TRIES and found.lost < LOST

    def set(self, entry: Entry, **changes: Any) -> Progress:
        """Notes a change, and writes the file.  Raises StoreError."""
        found = replace(self.progress(entry), **changes)
        self.entries[entry.name] = found
        self.write()
        return found

    def write(self) -> None:
        """Writes a new file and renames it; a kill leaves the old one.  Raises StoreError."""
        entries = {name: asdict(progress) for name, progress in self.entries.items()}
        write_json(self.path, {"entries": entries, "campaigns": self.campaigns})
