"""Write the runs that W&B lacks from their records, and clear offline runs that are uploaded.

Runs appear in W&B under their run ids, so that none appears twice, however often it is written.
"""

import argparse
import sys
import time

from launch.packs.lookup import add_store, store_there
from launch.tracking.sync import catch_up, survey, tidy
from launch.tracking.wandb.environment import named
from launch.tracking.wandb.key import require_key
from launch.wording import counted

PROJECT = "plasticity_lab"
"""Where runs go that were trained with no word about it; conf/tracking says the same."""
_SILENCE_SECONDS = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_store(parser)
    parser.add_argument("--entity", help="W&B's user or team; by default that of each sweep")
    parser.add_argument("--project", help="W&B's project; by default that of each sweep")
    parser.add_argument("--offline", action="store_true", help="write offline runs into the store, upload nothing")
    parser.add_argument("--dry-run", action="store_true", help="say what is missing, write nothing")


def run(options: argparse.Namespace) -> int:
    """The command.  Returns 1 if runs could not be written.  Raises ConfigError without a key, StoreError."""
    store = store_there(options.store)
    if not (options.offline or options.dry_run):
        require_key("Uploading", "--offline writes runs that can be uploaded elsewhere.")
    found = survey(store, not options.offline, options.entity, options.project, PROJECT)
    for error in [*found.unreadable, *found.corrupt]:
        print(error, file=sys.stderr)
    if options.dry_run:
        print(f"{counted(found.lacking, 'run')} to write, {found.there:,} there already.")
        return 0
    tidy(store, found)
    last_said = time.monotonic()

    def report(done: int) -> None:
        nonlocal last_said
        if time.monotonic() - last_said > _SILENCE_SECONDS:
            last_said = time.monotonic()
            print(f"{done:,} of {counted(found.lacking, 'run')} written", file=sys.stderr, flush=True)

    failed = catch_up(store, found, report)
    left = found.lacking - len(failed)
    places = ", ".join(sorted({"/".join(filter(None, (to.entity, to.project))) for to in found.missing}))
    where = f"offline into {store.wandb_folder}" if options.offline else f"to W&B ({places})" if places else "to W&B"
    print(f"{counted(left, 'run')} written {where}; {found.there:,} there already.")
    for reason in dict.fromkeys(failed.values()):
        count = list(failed.values()).count(reason)
        print(f"Not written: {counted(count, 'run')}: {reason.rstrip('.')}{named()}.", file=sys.stderr)
    return 1 if failed else 0
