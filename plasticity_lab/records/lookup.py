"""Finds a run in a store by the beginning of its id."""

import os
from typing import Any

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store

SHOWN = 5
"""The number of ids that a message names."""


def recorded_runs(store: Store) -> list[str]:
    """The ids of all runs that have a folder, sorted.  Raises StoreError."""
    return [run for first in names(store.runs_folder) for run in names(store.runs_folder / first)]


def store_of(store: Any) -> Store:
    """The store, given as a Store or as the path of its folder.  Raises StoreError for another value."""
    if isinstance(store, Store):
        return store
    if isinstance(store, str | os.PathLike) and isinstance(os.fspath(store), str):
        return Store(os.fspath(store))
    raise StoreError(f"The store is {store!r}; it must be a Store, or the path of its folder as a Path or in words.")


def run_named(store: Store, start: Any) -> str:
    """The id that begins with `start`, if only one run with a folder has such an id.

    Raises StoreError that names the runs of the store.
    """
    if not isinstance(start, str) or not start:
        raise StoreError(f"The run is {start!r}; it must be the id of a run, or the beginning of one, in words.")
    runs = recorded_runs(store) if store.root.is_dir() else []
    matches = [run for run in runs if run.startswith(start)]
    if start in matches or len(matches) == 1:
        return start if start in matches else matches[0]
    if matches:
        raise StoreError(f"{start} is the beginning of {len(matches)} runs: {_first(matches)}; give more of it.")
    if runs:
        why = f"there are {_first(runs)}"
    elif store.root.is_dir():
        why = "that folder holds none; it must be the one that training was given as store=FOLDER"
    else:
        why = "that is a file" if store.root.exists() else "there is no such folder"
    raise StoreError(f"There is no record of run {start} in {store.root}: {why}.")


def _first(runs: list[str]) -> str:
    shown = ", ".join(runs[:SHOWN])
    return shown if len(runs) <= SHOWN else f"{shown} and {len(runs) - SHOWN:,} more"
