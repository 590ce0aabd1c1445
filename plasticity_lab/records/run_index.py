"""How the runs of a store ended: from its index if that is current, otherwise from the records."""

from plasticity_lab.records.files import names
from plasticity_lab.records.index_files import Outcome, holds, outcome_in, read_lines, write_lines
from plasticity_lab.records.record import outcome_of
from plasticity_lab.records.record_facts import FILES
from plasticity_lab.records.store import Store

MANY_LINES, MANY_FILES = 1000, 256
"""The index is merged into one file if that lacks this many lines, or if there are this many other files."""


class RunIndex:
    """Answers how runs ended. Checks their files, and reads records that changed since their line was written."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._folders: dict[str, tuple[str, set[str]]] = {}  # first two digits → folder, and the runs in it
        self._read: tuple[dict[str, bytes], dict[str, int]] | None = None
        self._news: dict[str, Outcome] = {}

    def of(self, run: str) -> Outcome | None:
        """How a run ended; None if it has no record.  Raises CorruptRecord; StoreError if the disk does not answer."""
        if run in self._news:
            return self._news[run]
        folder = self._folder(run)
        if folder is None:
            return None
        if self._read is None:
            self._read = read_lines(self.store)
        known = outcome_in(self._read[0].get(run, b""))
        # Each file of a run has three marks.
        if known is not None and holds(folder, FILES[: max(1, len(known.marks) // 3)], known.marks):
            return known
        outcome = outcome_of(self.store, run)
        if outcome is not None and outcome.marks:
            self._news[run] = outcome
        return outcome

    def save(self) -> None:
        """Merges the index into one file if there are enough new lines; not if the store cannot be written."""
        if self._read is None:
            return
        lines, others = self._read
        if len(self._news) + sum(others.values()) >= MANY_LINES or len(others) >= MANY_FILES:
            write_lines(self.store, lines, self._news, others)
            self._read, self._news = None, {}

    def _folder(self, run: str) -> str | None:
        """The folder of a run; None if it has none. Lists each folder of runs once: a new sweep has no run there."""
        first = run[:2]
        if first not in self._folders:
            parent = self.store.run_folder(run).parent
            self._folders[first] = str(parent), set(names(parent))
        parent, runs = self._folders[first]
        return f"{parent}/{run}" if run in runs else None
