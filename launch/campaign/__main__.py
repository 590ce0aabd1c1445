"""A campaign as a command.

    python -m launch.campaign --minutes 14 [--device cuda] [--folder campaign] [--dry-run]
    python -m launch.campaign --pack-images DATA        one file with images, for a machine without a network
    python -m launch.campaign --take                    measurements of a returned folder into analysis/measured/speed

It prints its plan, carries out the entries of launch/campaign/plan.yaml that its minutes allow, and stops in time. The
next campaign with the same folder goes on.
"""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from launch.campaign import entry as entries
from launch.campaign import images, machine, speed
from launch.campaign.campaign import Asked, run
from launch.campaign.prices import differing, never
from launch.campaign.schedule import plan, remaining
from launch.campaign.state import State
from launch.plan.device import devices
from launch.tables import print_table, window
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.account import expanded
from plasticity_lab.process.exits import leave, status_of


def main(arguments: Sequence[str] | None = None) -> int:
    """The command.  Returns its exit status."""
    return status_of(lambda: _done(_parser().parse_args(arguments)))


def _done(options: argparse.Namespace) -> int | None:
    folder = expanded(options.folder).absolute()
    if options.pack_images is not None:
        print(images.said(images.pack(data_folder(options.pack_images), folder)))
        return 0
    if options.take:
        print("\n".join(f"Written: {path}" for path in speed.take(folder)))
        return 0
    found = entries.read(options.plan)
    if options.check_plan:
        wrong = [*never(found, options.minutes), *differing(found)]
        print("\n".join(wrong) or f"All studies have the minutes of their plans, and fit {options.minutes:g} minutes.")
        return int(bool(wrong))
    if options.only:
        names = options.only.split(",")
        if strange := set(names) - {entry.name for entry in found}:
            raise ConfigError(
                f"There is no entry {min(strange)}; there are {', '.join(entry.name for entry in found)}."
            )
        found = [entry for entry in found if entry.name in names]
    if not options.minutes > 0:
        raise ConfigError(f"--minutes is {options.minutes:g}; it must be above 0.")
    data = data_folder(None)
    asked = Asked(found, options.minutes, options.device, folder, data if data.is_dir() else None)
    _print_plan(asked)
    if options.dry_run:
        return 0
    if options.device != "cpu":
        devices(options.device)  # before anything fails for want of a GPU
    return run(asked)


def _print_plan(asked: Asked) -> None:
    """The open entries in their order, when each begins and for how long, and the minutes until the last one ends."""
    known = State.of(asked.folder / "state.json")
    brought = {"mnist", "cifar10"} if (asked.folder / images.FILE).exists() else set()
    found = plan(
        asked.entries, known, images.there(asked.data) | brought, asked.usable, machine.planned_capacity(asked.device)
    )
    rows = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("entry", "state", "minutes", "begins at", "in this campaign", "workers", "why not now"):
        rows.add_column(heading)
    for each in found:
        status, rest = known.progress(each.entry).status, f"{remaining(each.entry, known):.1f}"
        begins, taken, workers = f"{each.begins:.1f}", f"{each.minutes:.1f}", str(each.workers)
        cells = ("–", "–", "–") if each.why else (begins, taken, workers)
        rows.add_row(each.entry.name, status, rest, *cells, each.why)
    print_table(window(), rows)
    done = sum(not known.is_open(entry) for entry in asked.entries)
    until = max((each.begins + each.minutes for each in found), default=0.0)
    kept = asked.minutes - asked.usable
    print(f"{until:.1f} of {asked.minutes:g} minutes are planned; {kept:.1f} are for checkpoints and exports.", end=" ")
    print(f"{done} of {len(asked.entries)} entries are done.", flush=True)
    if machine.is_model(asked.device):
        print("This machine has no GPU; the plan is for an NVIDIA H200 with 16 cores.", flush=True)


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m launch.campaign", description=__doc__, formatter_class=raw)
    parser.add_argument("--minutes", type=float, default=14.0, help="the campaign's time, from start to end")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try a campaign")
    parser.add_argument("--folder", type=Path, default=Path("campaign"), help="all that the campaigns leave")
    parser.add_argument("--plan", type=Path, default=entries.PLAN, help="a YAML file with entries")
    parser.add_argument("--only", help="names of entries, such as graphs,busy")
    parser.add_argument("--dry-run", action="store_true", help="print the plan only")
    parser.add_argument(
        "--check-plan", action="store_true", help="compare the studies' minutes with their plans and --minutes"
    )
    parser.add_argument(
        "--pack-images", nargs="?", const="", metavar="DATA", help="write the images of a folder as one file"
    )
    parser.add_argument("--take", action="store_true", help="copy the folder's measurements into the repository")
    return parser


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
