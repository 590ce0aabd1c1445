"""The plan as `dry_run=true` prints it: packs, times, and the space that runs take on the disk."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.table import Table

from launch.plan.forecast import forecast
from launch.plan.planner import CostOf, Resources
from launch.tables import print_table, window
from launch.wording import counted, in_bytes, in_time, run_steps
from plasticity_lab.records.bulk_log import GROWN
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run

BLOCK = 4096
"""Bytes of a disk block; a small file or a folder takes one block."""
METRICS_BYTES, ROW_BYTES = 3_000, 20
"""metrics.parquet: bytes of an empty file, and of each row. Measured with two incompressible floats a row."""
LOOKED_BYTES = 8
"""Bytes of a number of a diagnostic, which does not compress either."""
RECORD_BYTES = 5_000
"""Bytes of record.json: science, provenance, and the declaration of the measurements."""
WEIGHTS_BYTES = 4_000
STATISTICS_BYTES, TENSOR_BYTES = 700, 350
"""statistics.pt: bytes of an empty file, and of each tensor in addition to its numbers. Measured."""
WHILE_WRITTEN = 1
"""While a replay memory replaces a log, both are on the disk until the checkpoint names the memory."""


def print_plan(
    packs: Sequence[Pack],
    runs: Mapping[str, Run],
    finished: int,
    resources: Resources,
    workers: int,
    settings: Settings,
    cost_of: CostOf,
) -> None:
    """Prints a line for each group of equal packs, then the sums; times are estimates by the calibration.

    finished: the number of other runs, which are finished. workers: the number of workers that train at once.
    """
    console = window()
    if packs:
        print_table(console, _table(packs))
        console.print()
        reasons = sorted({(pack.mode, _reason(pack, runs, resources, settings, cost_of)) for pack in packs})
        console.print(f"mode: {'; '.join(f'{mode}, {reason}' for mode, reason in reasons)}")
        if said := _steps_a_call(packs, runs, cost_of):
            console.print(said, soft_wrap=not console.is_terminal)
    if any(pack.narrowed for pack in packs):
        console.print("* as wide as memory allows")
    words = f"{counted(sum(pack.width for pack in packs), 'run')} to train in {counted(len(packs), 'pack')}"
    if finished:
        words += f", {finished:,} finished already"
    if packs:
        time = forecast(packs, runs, cost_of, workers, resources)
        memories = memory_bytes(packs, runs, cost_of, workers)
        stored = store_bytes(packs, runs, settings.save_weights, cost_of, settings.save_weights_every)
        words += f"; {_length(packs)}; about {in_time(time.seconds)}"
        words += f" on {counted(min(workers, len(packs)), 'worker')} ({resources.calibration.basis})"
        words += time.words
        words += f"; {in_bytes(stored)} in the store"
        words += f", and up to {in_bytes(memories)} of replay memories while they train" if memories else ""
    console.print(f"{words}.", soft_wrap=not console.is_terminal)


def _reason(pack: Pack, runs: Mapping[str, Run], resources: Resources, settings: Settings, cost_of: CostOf) -> str:
    """The reason for a pack's mode, in a few words."""
    choice = resources.choice(cost_of(runs[pack.runs[0]]), settings.mode)
    return choice.why if choice.mode == pack.mode else "as planned before"


def _steps_a_call(packs: Sequence[Pack], runs: Mapping[str, Run], cost_of: CostOf) -> str:
    """The packs that take one step in each call of our kernels, counted by the choice that is the reason."""
    by_kernels = [pack for pack in packs if pack.kernels]
    singly = Counter[str]()
    for pack in by_kernels:
        run = runs[pack.runs[0]]
        if group := cost_of(run).hindrance:
            singly[f"{group}={run.science[group]['name']}"] += 1
    if not by_kernels or not singly:
        return ""
    many = len(by_kernels) - singly.total()
    why = ", ".join(f"{choice} ({count})" for choice, count in singly.items())
    return f"kernels: {counted(many, 'pack')} with many steps in a call; with one step in a call: {why}"


def _length(packs: Sequence[Pack]) -> str:
    """The total steps of all runs, in words, for each unit."""
    sums = Counter[str]()
    for pack in packs:
        sums[pack.unit] += pack.run_steps
    return " and ".join(f"{total:,} {run_steps({unit})}" for unit, total in sums.items())


def _table(packs: Sequence[Pack]) -> Table:
    units = {pack.unit for pack in packs}
    mixed = len(units) > 1
    # A run's updates decide its mode. A classifier's updates equal its steps, and need no column.
    updates = ["updates a run"] if any(pack.updates != pack.steps for pack in packs) else []
    length = "length of a run" if mixed else f"{units.pop()} a run"
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("runs of", "packs", "width", "mode", length, *updates, "memory a pack", "time a pack"):
        table.add_column(heading, justify="left" if heading in ("runs of", "mode") else "right")

    def key(pack: Pack) -> tuple[str, str, int, int, str, int, bool]:
        return pack.family, pack.mode, pack.width, pack.steps, pack.unit, pack.updates, pack.narrowed

    for (family, mode, width, steps, unit, taken, narrowed), group in groupby(sorted(packs, key=key), key):
        same = list(group)
        memory = f"{max(pack.bytes for pack in same) / 2**20:,.0f} MiB"
        shown = f"{width}*" if narrowed else str(width)
        lengths = [f"{steps:,} {unit}" if mixed else f"{steps:,}", *[f"{taken:,}" for _ in updates]]
        table.add_row(family, str(len(same)), shown, mode, *lengths, memory, in_time(same[0].seconds))
    return table


def store_bytes(
    packs: Sequence[Pack], runs: Mapping[str, Run], save_weights: str, cost_of: CostOf, every: int = 1
) -> int:
    """Bytes that the packs' runs take on the disk: record, metrics, and the kept weights with their statistics.

    every: with save_weights=tasks, weights are also kept after every `every`-th task. Not counted: checkpoints, which
    are removed again, and the observations that are kept with the weights of tasks.
    """
    total = 0
    for pack in packs:
        run = runs[pack.runs[0]]
        cost = cost_of(run)
        files = [RECORD_BYTES, METRICS_BYTES + ROW_BYTES * cost.rows + LOOKED_BYTES * cost.looked]
        if save_weights != "none":
            task_ends = (run.science["benchmark"].get("tasks") or 1) // every if save_weights == "tasks" else 0
            files += [WEIGHTS_BYTES + 4 * cost.parameters] * (1 + task_ends)
            if cost.statistics:
                files.append(STATISTICS_BYTES + sum(TENSOR_BYTES + size for size in cost.statistics))
        of_run = BLOCK + sum(-(-size // BLOCK) * BLOCK for size in files)  # one block for the run's folder
        total += pack.width * of_run
    return total


def memory_bytes(packs: Sequence[Pack], runs: Mapping[str, Run], cost_of: CostOf, at_once: int) -> int:
    """The most bytes that replay memories take on the disk.  at_once: the number of packs that train at once."""
    full = sorted((pack.width * cost_of(runs[pack.runs[0]]).bulk_bytes for pack in packs), reverse=True)
    return int((GROWN + WHILE_WRITTEN) * sum(full[:at_once]))
