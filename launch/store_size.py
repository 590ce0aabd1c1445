"""How much of a disk the records of runs will take, once all have finished."""

import json
from collections.abc import Callable, Mapping, Sequence

from launch.planner import Pack, Run
from plasticity_lab.assembly import component, model_of
from plasticity_lab.data.image_set import ImageSet

BLOCK = 4096
"""Disks give space in blocks of so many bytes; small files and folders take one each."""
METRICS_BYTES, ROW_BYTES = 3_000, 20
"""What metrics.parquet takes whatever it holds, and for each row: measured, two floats a row that do not compress."""
WEIGHTS_BYTES = 4_000


def store_bytes(
    packs: Sequence[Pack], runs: Mapping[str, Run], save_weights: str, images_of: Callable[[str], ImageSet]
) -> int:
    """Bytes on the disk of what the packs' runs leave behind: record, metrics, and weights where they are kept.

    Checkpoints, which come and go, are not in it.
    """
    known: dict[str, int] = {}
    total = 0
    for pack in packs:
        science = runs[pack.runs[0]]["science"]
        # What a record's size depends on: the events, and with weights the network and the activation's learned values.
        groups = ("benchmark", "network", "activation") if save_weights != "none" else ("benchmark",)
        key = json.dumps([science[group] for group in groups])
        if key not in known:
            known[key] = _bytes_of(runs[pack.runs[0]], save_weights, images_of)
        total += known[key] * pack.width
    return total


def _bytes_of(run: Run, save_weights: str, images_of: Callable[[str], ImageSet]) -> int:
    benchmark = component(run, "benchmark")
    rows = benchmark.tasks + benchmark.total_epochs
    files = [METRICS_BYTES + ROW_BYTES * rows]
    if save_weights != "none":
        files.append(WEIGHTS_BYTES + 4 * model_of([run], images_of(benchmark.source)).size)
    return 2 * BLOCK + sum(-(-size // BLOCK) * BLOCK for size in files)  # two: the run's folder and record.json
