"""What runs take on the disk, before they start."""

from collections.abc import Callable, Mapping, Sequence

from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.bulk_log import GROWN
from plasticity_lab.records.plan import Pack
from plasticity_lab.run import Run

BLOCK = 4096
"""Bytes of a disk's block; a small file or a folder takes one."""
METRICS_BYTES, ROW_BYTES = 3_000, 20
"""What metrics.parquet takes whatever it holds, and for each row: measured, two floats a row that do not compress."""
LOOKED_BYTES = 8
"""A number of a diagnostic, which does not compress either."""
RECORD_BYTES = 5_000
"""What record.json takes: science, provenance, and the declaration of what was measured."""
WEIGHTS_BYTES = 4_000
STATISTICS_BYTES, TENSOR_BYTES = 700, 350
"""What statistics.pt takes whatever it holds, and beside the numbers of each tensor: measured."""
WHILE_WRITTEN = 1
"""A memory that takes the place of a log is there beside it until the checkpoint names it."""


def store_bytes(
    packs: Sequence[Pack],
    runs: Mapping[str, Run],
    save_weights: str,
    cost_of: Callable[[Run], Cost],
    every: int = 1,
) -> int:
    """Bytes on the disk of what the packs' runs leave behind: record, metrics, and where they are kept weights with
    their statistics, those of each `every`-th task's end too.

    Checkpoints, which come and go, are not in it, nor the observations that are kept with the weights of tasks.
    """

    def of(run: Run) -> int:
        ends = (run.science["benchmark"].get("tasks") or 1) // every if save_weights == "tasks" else 0
        return _bytes_of(cost_of(run), save_weights, ends)

    return sum(pack.width * of(runs[pack.runs[0]]) for pack in packs)


def memory_bytes(packs: Sequence[Pack], runs: Mapping[str, Run], cost_of: Callable[[Run], Cost], at_once: int) -> int:
    """Bytes on the disk of replay memories, at most, while that number of packs is trained at a time."""
    full = sorted((pack.width * cost_of(runs[pack.runs[0]]).bulk_bytes for pack in packs), reverse=True)
    return int((GROWN + WHILE_WRITTEN) * sum(full[:at_once]))


def _bytes_of(cost: Cost, save_weights: str, task_ends: int) -> int:
    files = [RECORD_BYTES, METRICS_BYTES + ROW_BYTES * cost.rows + LOOKED_BYTES * cost.looked]
    if save_weights != "none":
        files += [WEIGHTS_BYTES + 4 * cost.parameters] * (1 + task_ends)
        if cost.statistics:
            files.append(STATISTICS_BYTES + sum(TENSOR_BYTES + size for size in cost.statistics))
    return BLOCK + sum(-(-size // BLOCK) * BLOCK for size in files)  # one for the run's folder
