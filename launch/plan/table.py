"""The plan for people: what `dry_run=true` prints."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from launch.plan.first_compiling import FirstCompiling
from launch.plan.makespan import makespan
from launch.plan.speed import Calibration
from launch.wording import counted, in_bytes, in_time, run_steps
from plasticity_lab.records.plan import Pack

PRINTED_WIDTH = 120


def print_plan(
    packs: Sequence[Pack],
    finished: int,
    workers: int,
    calibration: Calibration,
    stored: int,
    memories: int,
    first: FirstCompiling,
    why: Callable[[Pack], str],
) -> None:
    """Packs that are alike in one line each, then the sums; times are estimates by the calibration.

    stored: bytes that the runs' records will take. memories: bytes of replay memories in the store, at most. first: the
    compiling before packs are trained. why: the reason for a pack's mode, in a few words.
    """
    console = Console(width=None if Console().is_terminal else PRINTED_WIDTH)
    if packs:
        console.print(_table(packs))
        console.print()
        reasons = sorted({(pack.mode, why(pack)) for pack in packs})
        console.print(f"mode: {'; '.join(f'{mode}, {reason}' for mode, reason in reasons)}", highlight=False)
    if any(pack.narrowed for pack in packs):
        console.print("* as wide as memory allows", highlight=False)
    runs = sum(pack.width for pack in packs)
    words = f"{counted(runs, 'run')} to train in {counted(len(packs), 'pack')}"
    if finished:
        words += f", {finished:,} finished already"
    if packs:
        at_once = min(workers, len(packs))
        trained = training_seconds(packs, workers)
        words += f"; {_length(packs)}; about {in_time(trained + first.seconds)}"
        words += f" on {counted(at_once, 'worker')} ({calibration.basis})"
        words += first.words(trained)
        words += f"; {in_bytes(stored)} in the store"
        words += f", and up to {in_bytes(memories)} of replay memories while they train" if memories else ""
    console.print(f"{words}.", soft_wrap=True, highlight=False)


def training_seconds(packs: Sequence[Pack], workers: int) -> float:
    """Wall clock until that many workers have trained all packs, which are one at least."""
    return makespan([0.0] * min(workers, len(packs)), [pack.seconds for pack in packs])


def _length(packs: Sequence[Pack]) -> str:
    """The steps of all runs together, by unit."""
    sums = Counter[str]()
    for pack in packs:
        sums[pack.unit] += pack.run_steps
    return " and ".join(f"{total:,} {run_steps({unit})}" for unit, total in sums.items())


def _table(packs: Sequence[Pack]) -> Table:
    units = {pack.unit for pack in packs}
    mixed = len(units) > 1
    # A run's updates decide its mode; where they are its steps, as a classifier's are, they need no column.
    updates = ["updates a run"] if any(pack.updates != pack.steps for pack in packs) else []
    length = "length of a run" if mixed else f"{units.pop()} a run"
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("runs of", "packs", "width", "mode", length, *updates, "memory a pack", "time a pack"):
        table.add_column(heading, justify="left" if heading in ("runs of", "mode") else "right")

    def alike(pack: Pack) -> tuple[str, str, int, int, str, int, bool]:
        return pack.family, pack.mode, pack.width, pack.steps, pack.unit, pack.updates, pack.narrowed

    for (family, mode, width, steps, unit, taken, narrowed), group in groupby(sorted(packs, key=alike), alike):
        same = list(group)
        memory = f"{max(pack.bytes for pack in same) / 2**20:,.0f} MiB"
        shown = f"{width}*" if narrowed else str(width)
        each = [f"{steps:,} {unit}" if mixed else f"{steps:,}", *[f"{taken:,}" for _ in updates]]
        table.add_row(family, str(len(same)), shown, mode, *each, memory, in_time(same[0].seconds))
    return table
