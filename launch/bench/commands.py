"""A whole sweep, timed as its user meets it: the command, from its start to its last record."""

import subprocess
import sys
import time
from collections.abc import Sequence

from plasticity_lab.records.record import all_records
from plasticity_lab.records.store import Store


def seconds_of(words: Sequence[str], runs: int, store: Store) -> float:
    """Seconds of a command that must leave `runs` new records.  Raises RuntimeError with what went wrong."""
    began = time.monotonic()
    command = [sys.executable, "-m", "plasticity_lab.main", *words, f"store={store.root}"]
    found = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - began
    records = len(list(store.runs_folder.glob("*/*/record.json")))
    if found.returncode or records != runs:
        raise RuntimeError(f"{records} of {runs} runs were recorded: {found.stderr}")
    return seconds


def training_seconds(store: Store) -> float:
    """Seconds in which packs trained, as the records have it, those of workers beside each other added up."""
    records, _ = all_records(store)
    return sum({each["provenance"]["pack"]: each["provenance"]["pack_seconds"] for each in records}.values())
