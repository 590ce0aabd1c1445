"""What is said of a file that an earlier version wrote: which command brings its store to today's formats."""

import shlex
from pathlib import Path

from plasticity_lab.errors import StoreError
from plasticity_lab.records.store import Store


class OldFormat(StoreError):
    """A whole file in a format that is not read any more; `migration` knows it.

    No command sets such a file aside or goes on without it: its numbers would be trained again.
    """

    def __init__(self, store: Store, path: Path, what: str) -> None:
        command = f"python -m launch migrate --store {shlex.quote(str(store.root))}"
        super().__init__(
            f"{path} {what} that an earlier version of plasticity_lab wrote; `{command}` brings everything in the "
            "store to today's formats, and loses nothing."
        )
        self.path = path
