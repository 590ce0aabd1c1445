"""The plan for people: what `dry_run=true` prints."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from launch.plan.calibration import Calibration
from launch.wording import counted, in_bytes, in_time
from plasticity_lab.records.plan import Pack

PRINTED_WIDTH = 120


def print_plan(packs: Sequence[Pack], finished: int, workers: int, calibration: Calibration, stored: int) -> None:
    """Packs that are alike in one line each, then the sums; times are estimates by the calibration.

    stored: bytes that the runs' records will take.
    """
    console = Console(width=None if Console().is_terminal else PRINTED_WIDTH)
    if packs:
        console.print(_table(packs))
        console.print()
    if any(pack.narrowed for pack in packs):
        console.print("* as wide as memory allows", highlight=False)
    total = sum(pack.seconds for pack in packs)
    longest = max((pack.seconds for pack in packs), default=0.0)
    runs = sum(pack.width for pack in packs)
    run_steps = sum(pack.run_steps for pack in packs)
    words = f"{counted(runs, 'run')} to train in {counted(len(packs), 'pack')}"
    if finished:
        words += f", {finished:,} finished already"
    if packs:
        at_once = min(workers, len(packs))
        words += f"; {run_steps:,} run-steps; about {in_time(max(longest, total / at_once))}"
        words += f" on {counted(at_once, 'worker')} ({calibration.basis}); {in_bytes(stored)} in the store"
    console.print(f"{words}.", soft_wrap=True, highlight=False)


def _table(packs: Sequence[Pack]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("runs of", "packs", "width", "mode", "steps a run", "memory a pack", "time a pack"):
        table.add_column(heading, justify="left" if heading in ("runs of", "mode") else "right")

    def alike(pack: Pack) -> tuple[str, str, int, int, bool]:
        return pack.label, pack.mode, pack.width, pack.steps, pack.narrowed

    for (label, mode, width, steps, narrowed), group in groupby(sorted(packs, key=alike), alike):
        same = list(group)
        memory = f"{max(pack.bytes for pack in same) / 2**20:,.0f} MiB"
        shown = f"{width}*" if narrowed else str(width)
        table.add_row(label, str(len(same)), shown, mode, f"{steps:,}", memory, in_time(same[0].seconds))
    return table
