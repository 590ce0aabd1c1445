"""How large a run is before it starts: steps, operations, bytes."""

from collections.abc import Callable
from functools import cache
from math import prod

from launch.planner import Run, Size
from plasticity_lab.agents.score import AT_ONCE
from plasticity_lab.assembly import component, model_of
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.networks.model import Model


def sizes(images_of: Callable[[str], ImageSet]) -> Callable[[Run], Size]:
    """A function that sizes runs, reading each image set once.

    images_of: the image set of a source; raises DataError where it is missing, before anything is queued.
    """
    known = cache(images_of)
    return lambda run: _size(run, known(run["science"]["benchmark"]["source"]))


def flops_of(model: Model, batch_size: int) -> int:
    """Operations of one run's step in matrix products and convolutions.

    Two for each multiplication, forward, for the weights' gradients, and for the inputs' save in the first layer.
    """
    first, *others = (layer.work for layer in model.design.layers)
    return 2 * batch_size * (2 * first + 3 * sum(others))


def _size(run: Run, image_set: ImageSet) -> Size:
    benchmark = component(run, "benchmark")
    model = model_of([run], image_set)
    pixels = prod(image_set.train_images.shape[1:])
    held_out = len(benchmark.lesson(image_set, run["science"]["seed"], 0).held_out)
    # Parameters, gradients, two moments and an anchor, in float32; the task's images, held-out ones too; and the floats
    # of one evaluation batch with everything between the layers, taken twice for good measure.
    between = sum(prod(unit.produced) for unit in model.units)
    floats = 5 * model.size + 2 * AT_ONCE * (pixels + between)
    return Size(
        steps=benchmark.total_steps,
        flops=flops_of(model, benchmark.batch_size),
        bytes=4 * floats + pixels * (benchmark.max_images + held_out),
        convolves=any(len(unit.produced) == 3 for unit in model.units),
    )
