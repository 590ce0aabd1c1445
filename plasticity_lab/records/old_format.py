"""The error about a file that an earlier version wrote, in a format that is not read any more."""

from pathlib import Path

from plasticity_lab.errors import StoreError


class OldFormat(StoreError):
    """A whole file in a format of before the first release.

    No command sets such a file aside or goes on without it: its numbers would be trained again.
    """

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} {what} that an earlier version of plasticity_lab wrote, before its first release. This version "
            "does not read it: use another store (store=FOLDER), or read this store with that version."
        )
        self.path = path
