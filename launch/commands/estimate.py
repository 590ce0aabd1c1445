"""Say what the rest of a stored sweep would cost: packs, hours and store size, on this machine or another kind.

    python -m launch estimate 3f2a --device "NVIDIA H200" --workers 4

What `dry_run=true` prints for a command, for the runs of a plan that are not finished yet. Each is counted from its
first step, on any device; how far running packs have come is told by `python -m launch status`.
"""

import argparse
import sys

from launch.packs.lookup import add_sweep, store_there, sweep_named
from launch.packs.todo import outstanding
from launch.plan.calibration import calibration_of
from launch.plan.device import cores, devices, kind_of, memory_of
from launch.plan.planner import plan
from launch.plan.table import print_plan
from plasticity_lab.component import check
from plasticity_lab.records.plan import Pack, Plan, read_plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_sweep(parser)
    parser.add_argument(
        "--device",
        default="auto",
        help="auto: this machine's; cpu; or a GPU by its name, as `calibrate` has measured it into the store",
    )
    parser.add_argument("--workers", type=int, help="how many train at once; by default all of this machine, else 1")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises StoreError, PlanError, DataError, ConfigError."""
    from launch.launchers.prepare import images_to_plan_with  # torch: --help need not wait for it
    from launch.plan.cost import sizes, store_bytes

    store = store_there(options.store)
    stored = read_plan(store, sweep_named(store, options.sweep))
    kind, memory, workers = _device(options.device)
    workers = check("--workers", workers if options.workers is None else options.workers, at_least=1)
    calibration = calibration_of(kind, store)
    runs = [stored.runs[run] for run in stored.asked if run in stored.runs]
    todo = outstanding(store, runs, rerun=False, retries=stored.settings.launch.retries)
    images = images_to_plan_with(stored.settings.data)
    modes = {pack.steps: pack.mode for pack in stored.packs}
    packs: list[Pack] = plan(
        todo.left,
        size_of=sizes(images),
        mode_of=modes.__getitem__,  # of the run's steps alone: as it was planned, it would be planned again
        kind=kind,
        calibration=calibration,
        memory=memory,
        workers=workers,
        widest=todo.widest,
    )
    size = store_bytes(packs, stored.runs, stored.settings.save_weights, images)
    print(f"Sweep {stored.sweep} on {kind}:", file=sys.stderr)
    print_plan(packs, _finished(stored, packs), workers, calibration, size)
    return 0


def _device(named: str) -> tuple[str, int, int]:
    """Kind, bytes that a pack may use, and workers; of a kind that is not here the memory is taken to suffice."""
    here = devices("auto")
    if named == "cpu":
        here = ["cpu"]
    elif named not in ("auto", kind_of(here[0])):
        return named, sys.maxsize, 1
    workers = cores() if here == ["cpu"] else len(here)
    return kind_of(here[0]), memory_of(here[0]) * len(here) // workers, workers


def _finished(stored: Plan, packs: list[Pack]) -> int:
    return len(stored.asked) - sum(pack.width for pack in packs)
