"""Finding the record of a run: in which store, and by which beginning of its id."""

import os
from typing import Any

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store

SHOWN = 5
"""How many ids a sentence names."""


def recorded_runs(store: Store) -> list[str]:
    """The ids of all runs that have left something behind, sorted.  Raises StoreError."""
    return [run for first in names(store.runs_folder) for run in names(store.runs_folder / first)]


def store_of(store: Any) -> Store:
    """The store that is meant by a Store or by the path of its folder.  Raises StoreError for anything else."""
    if isinstance(store, Store):
        return store
    if isinstance(store, str | os.PathLike) and isinstance(os.fspath(store), str):
        return Store(os.fspath(store))
    raise StoreError(f"The store is {store!r}; it must be a Store, or the path of its folder as a Path or in words.")


def run_named(store: Store, start: Any) -> str:
    """The id of the only run that has left something behind and whose id begins with `start`.

    Raises StoreError that names those there are.
    """
    if not isinstance(start, str) or not start:
        raise StoreError(f"The run is {start!r}; it must be the id of a run, or the beginning of one, in words.")
    there = recorded_runs(store) if store.root.is_dir() else []
    found = [run for run in there if run.startswith(start)]
    if start in found:
        return start
    if len(found) == 1:
        return found[0]
    if found:
        raise StoreError(f"{start} is the beginning of {len(found)} runs: {_first(found)}; give more of it.")
    if there:
        why = f"there are {_first(there)}"
    elif store.root.is_dir():
        why = "that folder holds none; it must be the one that training was given as store=FOLDER"
    else:
        why = "that is a file" if store.root.exists() else "there is no such folder"
    raise StoreError(f"There is no record of run {start} in {store.root}: {why}.")


def _first(runs: list[str]) -> str:
    shown = ", ".join(runs[:SHOWN])
    return shown if len(runs) <= SHOWN else f"{shown} and {len(runs) - SHOWN:,} more"
