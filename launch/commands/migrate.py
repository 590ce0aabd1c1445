"""Bring a store that earlier versions wrote to today's formats: records, plans and checkpoints.

Each file is replaced at once or not at all, and keeps all that it held; one that cannot be read is named. Whatever is
interrupted goes on when the command is given again. The exit status is 1 where a file could not be read.
"""

import argparse

from launch.packs.lease_files import LeaseFiles
from launch.packs.lookup import add_store, store_there
from launch.wording import counted, say, some
from plasticity_lab.errors import StoreError
from plasticity_lab.records.store import Store

HELD_SECONDS = 600.0
"""A lease that was touched so short a time ago is respected, whatever its plan says."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_store(parser)
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(options: argparse.Namespace) -> int:
    """The command.  Returns 1 if a file could not be read.  Raises StoreError, also while workers train."""
    from plasticity_lab.records.migration.changed import Changed
    from plasticity_lab.records.migration.checkpoints import migrate_checkpoints  # torch: --help need not wait for it
    from plasticity_lab.records.migration.plans import migrate_plans
    from plasticity_lab.records.migration.records import migrate_records

    store, changed = store_there(options.store), Changed()
    if not options.dry_run:
        _check_unused(store)
    for migrate in (migrate_records, migrate_checkpoints, migrate_plans):
        migrate(store, changed, options.dry_run)
    for fault in changed.unreadable:
        say(fault)
    found = ", ".join(counted(count, kind) for kind, count in changed.old.items() if count)
    rest = f"{changed.today.total():,} more {'is' if changed.today.total() == 1 else 'are'} in them already"
    if not found:
        print(f"Nothing in {store.root} is of an earlier version; all of it is in today's formats.")
    elif options.dry_run:
        print(f"Would be brought to today's formats in {store.root}: {found}; {rest}.")
    else:
        print(f"Brought to today's formats in {store.root}: {found}; {rest}.")
    return 1 if changed.unreadable else 0


def _check_unused(store: Store) -> None:
    """Raises StoreError while workers hold packs: those of an earlier version could not read what is written here."""
    leases = LeaseFiles(store)
    states = leases.states(list(leases.epochs()), HELD_SECONDS)
    held = {pack: state.owner for pack, state in states.items() if state.held}
    if held:
        names = some([f"{pack} ({owner or 'an unknown worker'})" for pack, owner in sorted(held.items())])
        raise StoreError(
            f"{counted(len(held), 'pack')} in {store.root} {'is' if len(held) == 1 else 'are'} being trained: {names}. "
            "Stop the workers (Ctrl-C, `python -m launch cancel`) or wait until they have ended, and give the command "
            f"again; of workers that were killed on other machines it is known after {HELD_SECONDS / 60:.0f} minutes."
        )
