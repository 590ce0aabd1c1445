"""The plan for people: what `dry_run=true` prints."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby

from rich.console import Console
from rich.table import Table

from launch.calibration import Calibration
from launch.planner import Pack

PRINTED_WIDTH = 120


def print_plan(packs: Sequence[Pack], finished: int, workers: int, calibration: Calibration) -> None:
    """Packs that are alike in one line each, then the sums; times are estimates by the calibration."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("runs of", "packs", "width", "mode", "steps a run", "memory a pack", "time a pack"):
        table.add_column(heading, justify="left" if heading in ("runs of", "mode") else "right")

    def alike(pack: Pack) -> tuple:
        return pack.label, pack.mode, pack.width, pack.steps

    for (label, mode, width, steps), group in groupby(sorted(packs, key=alike), alike):
        same = list(group)
        memory = f"{max(pack.bytes for pack in same) / 2**20:,.0f} MiB"
        table.add_row(label, str(len(same)), str(width), mode, f"{steps:,}", memory, _time(same[0].seconds))
    console = Console(width=None if Console().is_terminal else PRINTED_WIDTH)
    console.print(table)
    total = sum(pack.seconds for pack in packs)
    longest = max((pack.seconds for pack in packs), default=0.0)
    runs = sum(pack.width for pack in packs)
    run_steps = sum(pack.run_steps for pack in packs)
    console.print(
        f"\n{runs} runs to train in {len(packs)} packs, {finished} finished already; "
        f"{run_steps:,} run-steps; about {_time(max(longest, total / workers))} on {workers} "
        f"worker{'s' if workers > 1 else ''} ({calibration.basis})."
    )


def _time(seconds: float) -> str:
    return str(timedelta(seconds=max(1, round(seconds))))
