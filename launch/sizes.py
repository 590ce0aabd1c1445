"""How large a run is before it starts: steps, parameters, bytes."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from launch.planner import Run, Size, stacking_key
from plasticity_lab.assembly import component, model_of
from plasticity_lab.data.image_set import ImageSet


def sizes(images_of: Callable[[str], ImageSet]) -> Callable[[Run], Size]:
    """A function that sizes runs, computing once for all runs that could share a pack.

    images_of: the image set of a source; raises DataError where it is missing, before anything is queued.
    """
    known: dict[str, Size] = {}

    def size_of(run: Run) -> Size:
        key = stacking_key(run)
        if key not in known:
            known[key] = _size(run, images_of(run["science"]["benchmark"]["source"]))
        return known[key]

    return size_of


def _size(run: Mapping[str, Any], image_set: ImageSet) -> Size:
    benchmark = component(run, "benchmark")
    model = model_of([run], image_set)
    pixels = prod(image_set.train_images.shape[1:])
    held_out = len(benchmark.lesson(image_set, run["science"]["seed"], 0).held_out)
    # Parameters, gradients, two moments and an anchor, in float32; the task's images, held-out ones too; and the floats
    # of one evaluation batch with everything between the layers, taken twice for good measure.
    floats = 5 * model.size + 2 * 500 * (pixels + sum(prod(unit.produced) for unit in model.units))
    return Size(
        steps=benchmark.total_steps,
        batch_size=benchmark.batch_size,
        parameters=model.size,
        bytes=4 * floats + pixels * (benchmark.images + held_out),
    )
