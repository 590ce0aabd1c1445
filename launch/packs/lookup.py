"""Finding the store of a command, and a run or a sweep by the beginning of its id."""

import argparse
import os
from collections.abc import Collection, Iterable
from pathlib import Path

from launch.runs.settings import STORE
from launch.wording import say, some
from plasticity_lab.errors import StoreError
from plasticity_lab.records.lookup import recorded_runs
from plasticity_lab.records.plan import Plan, all_plans, sweeps_of
from plasticity_lab.records.store import Store


def add_store(parser: argparse.ArgumentParser) -> None:
    """Adds the option --store. Its default is $PLASTICITY_STORE or ./store, as for `python -m plasticity_lab.main`."""
    parser.add_argument(
        "--store", type=Path, default=Path(os.environ.get(STORE) or "store"), help="the folder of records"
    )


def add_config_dir(parser: argparse.ArgumentParser) -> None:
    """Adds --config-dir, a folder of a user's options. Commands may import the classes that these options name."""
    parser.add_argument(
        "--config-dir", "-cd", metavar="FOLDER", help="a folder with your options, as the main command takes it: "
        "records and plans may then name their classes"
    )  # fmt: skip


def config_dir_words(options: argparse.Namespace) -> list[str]:
    """The --config-dir option as words of the main command; empty if it is not set."""
    return [] if options.config_dir is None else ["--config-dir", options.config_dir]


def add_sweep(parser: argparse.ArgumentParser) -> None:
    """Adds the argument that names a sweep, for `sweep_named`, and the option --store."""
    parser.add_argument("sweep", nargs="?", help="the sweep's id, or its beginning; not needed if there is only one")
    add_store(parser)


def store_there(root: Path) -> Store:
    """The store in a folder.  Raises StoreError if the folder does not exist."""
    store = Store(root)
    if not store.root.is_dir():
        raise StoreError(f"There is no store at {store.root}; name one with --store, or make one by training a run.")
    return store


def in_order(store: Store) -> list[str]:
    """The sweeps of a store, sorted by the time when they were last planned.  Raises StoreError."""
    return sorted(sweeps_of(store), key=lambda sweep: store.plan(sweep).stat().st_mtime)


def sweep_named(store: Store, start: str | None) -> str:
    """The sweep with an id that begins with `start`; if that is None, the store's only sweep.  Raises StoreError."""
    known = sweeps_of(store)
    if start is None and len(known) != 1:
        raise StoreError(f"{store.root} holds {len(known)} sweeps; say which, as `python -m launch status` lists them.")
    return the_one(start or "", known, "sweep", store)


def plans_to_read(store: Store) -> list[Plan]:
    """The plans of all sweeps. Prints a line on stderr for each plan that cannot be read.  Raises StoreError."""
    unreadable: list[StoreError] = []
    plans = list(all_plans(store, unreadable))
    say(*unreadable)
    return plans


def runs_of(store: Store, plans: Iterable[Plan]) -> set[str]:
    """The ids of all runs that have a record, or are in one of the plans.  Raises StoreError."""
    return {*recorded_runs(store)}.union(*(plan.runs for plan in plans))


def the_one(start: str, known: Collection[str], what: str, store: Store) -> str:
    """The only id that begins with `start`.  what: «run» or «sweep».  Raises StoreError naming the possible ones."""
    matches = sorted(id for id in known if id.startswith(start))
    if start in matches:
        return start
    if len(matches) == 1:
        return matches[0]
    if not matches:
        there = f"; there are {some(sorted(known))}" if known else "; it has none"
        raise StoreError(f"There is no {what} {start} in {store.root}{there}.")
    raise StoreError(f"{start} is the beginning of {len(matches)} {what}s: {some(matches)}; give more of it.")
