"""How the runs of a store ended, read from its index where that still holds, and else from the records."""

from plasticity_lab.records.classifier import Declarations
from plasticity_lab.records.files import names
from plasticity_lab.records.index_files import Outcome, holds, outcome_in, read_lines, write_lines
from plasticity_lab.records.kept_files import files_of
from plasticity_lab.records.record import outcome_of
from plasticity_lab.records.store import Store

MANY_LINES, MANY_FILES = 1000, 256
"""The index is put into one file where that lacks this many lines, or there are this many others."""


class RunIndex:
    """Tells how runs ended. It looks at their files, and reads those that changed since a line was written of them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._declarations = Declarations()
        self._there: dict[str, tuple[str, set[str]]] = {}
        self._read: tuple[dict[str, bytes], dict[str, int]] | None = None
        self._news: dict[str, Outcome] = {}

    def of(self, run: str) -> Outcome | None:
        """How a run ended; None if it has no record.  Raises CorruptRecord; StoreError if the disk does not answer."""
        if run in self._news:
            return self._news[run]
        folder = self._folder(run)
        if folder is None:
            return None
        known = outcome_in(self._lines.get(run, b""))
        if known is not None and holds(folder, files_of(known), known.marks):
            return known
        found = outcome_of(self.store, run, self._declarations)
        if found is not None and found.marks:
            self._news[run] = found
        return found

    def save(self) -> None:
        """Writes the index anew, if that is worth while; not where the store cannot be written."""
        if self._read is None:
            return
        lines, others = self._read
        if len(self._news) + sum(others.values()) >= MANY_LINES or len(others) >= MANY_FILES:
            write_lines(self.store, lines, self._news, others)
            self._read, self._news = None, {}

    @property
    def _lines(self) -> dict[str, bytes]:
        """Run → line."""
        if self._read is None:
            self._read = read_lines(self.store)
        return self._read[0]

    def _folder(self, run: str) -> str | None:
        """The folder of a run; None if it has none: of a new sweep no run has, and none of them need be looked for."""
        first = run[:2]
        if first not in self._there:
            parent = self.store.run_folder(run).parent
            self._there[first] = str(parent), set(names(parent))
        parent, runs = self._there[first]
        return f"{parent}/{run}" if run in runs else None
