"""What a run costs, before it starts: steps, operations, bytes on the device, and bytes on the disk."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod

from launch.plan.planner import BYTES_A_PARAMETER, Size
from plasticity_lab.agents.supervised.score import AT_ONCE
from plasticity_lab.assembly import model_of
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.networks.model import Model
from plasticity_lab.records.plan import Pack
from plasticity_lab.run import Run

BLOCK = 4096
"""Bytes of a disk's block; a small file or a folder takes one."""
METRICS_BYTES, ROW_BYTES = 3_000, 20
"""What metrics.parquet takes whatever it holds, and for each row: measured, two floats a row that do not compress."""
WEIGHTS_BYTES = 4_000


def sizes(images_of: Callable[[str], ImageSet]) -> Callable[[Run], Size]:
    """A function that sizes runs, reading each image set once.

    images_of: the image set of a source; raises DataError where it is missing, before anything is queued.
    """
    known = cache(images_of)
    return lambda run: _size(run, known(run.science["benchmark"]["source"]))


def flops_of(model: Model, batch_size: int) -> int:
    """Operations of one run's step in matrix products and convolutions.

    Two for each multiplication, forward, for the weights' gradients, and for the inputs' save in the first layer.
    """
    first, *others = (layer.work for layer in model.design.layers)
    return 2 * batch_size * (2 * first + 3 * sum(others))


def _size(run: Run, image_set: ImageSet) -> Size:
    benchmark = run.component("benchmark")
    model = model_of([run], image_set)
    pixels = prod(image_set.train_images.shape[1:])
    held_out = len(benchmark.lesson(image_set, run.science["seed"], 0).held_out)
    # Beside the parameters the task's images, held-out ones too; and the floats of one evaluation batch with everything
    # between the layers, counted twice, as a margin.
    between = sum(prod(unit.produced) for unit in model.units)
    floats = 2 * AT_ONCE * (pixels + between)
    return Size(
        steps=benchmark.total_steps,
        flops=flops_of(model, benchmark.batch_size),
        bytes=BYTES_A_PARAMETER * model.size + 4 * floats + pixels * (benchmark.max_images + held_out),
        convolves=any(len(unit.produced) == 3 for unit in model.units),
        parameters=model.size,
    )


def store_bytes(
    packs: Sequence[Pack], runs: Mapping[str, Run], save_weights: str, images_of: Callable[[str], ImageSet]
) -> int:
    """Bytes on the disk of what the packs' runs leave behind: record, metrics, and weights where they are kept.

    Checkpoints, which come and go, are not in it.
    """
    known: dict[str, int] = {}
    total = 0
    for pack in packs:
        science = runs[pack.runs[0]].science
        # What a record's size depends on: the events, and with weights the network and the activation's learned values.
        groups = ("benchmark", "network", "activation") if save_weights != "none" else ("benchmark",)
        key = json.dumps([science[group] for group in groups])
        if key not in known:
            known[key] = _bytes_of(runs[pack.runs[0]], save_weights, images_of)
        total += known[key] * pack.width
    return total


def _bytes_of(run: Run, save_weights: str, images_of: Callable[[str], ImageSet]) -> int:
    benchmark = run.component("benchmark")
    rows = benchmark.tasks + benchmark.total_epochs
    files = [METRICS_BYTES + ROW_BYTES * rows]
    if save_weights != "none":
        files.append(WEIGHTS_BYTES + 4 * model_of([run], images_of(benchmark.source)).size)
    return 2 * BLOCK + sum(-(-size // BLOCK) * BLOCK for size in files)  # two: the run's folder and record.json
