"""The cost of a supervised run, before it starts."""

from math import prod

from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.evenly_spread import PROBE
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.many_steps import SCORE, hindrance, kernel_of
from plasticity_lab.agents.supervised.score import AT_ONCE
from plasticity_lab.agents.update import of_kernels
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.networks.model import Model

BYTES_A_PARAMETER = 20
"""A parameter, its gradient, two moments and one copy for the intervention, in float32."""
OF_EVALUATION = 0.42
"""The time to compile the graph of an evaluation, as a share of the time for both graphs."""
FEWEST_TENSORS, OF_A_TENSOR, OF_A_TENSOR_BY_KERNELS = 10, 0.045, 0.01
"""The tensors of the CNN's layers, and the additional time to compile a graph with one tensor more: the vision
transformer has 200, and takes 50 CPU seconds without our kernels and 9 with them."""
PASSES, COLUMNS = 2.5, 3
"""Measuring a perturbed epoch: its cost in forward passes, and the number of recorded numbers."""


def cost_of(parts: Parts, model: Model, images: ImageSet, clipped: bool = False, score: str = SCORE) -> Cost:
    """Steps, operations and bytes of one run.

    clipped: whether gradients are clipped. score: the part of the kernels that evaluates held-out images, if a call
        takes many steps.
    """
    kernels = of_kernels(parts, [model], clipped)
    kernels["hindrance"] = hindrance(parts, model, clipped)
    if (many := kernel_of(parts, model, clipped)) is not None:
        of_graphs = 0.0 if score == SCORE else OF_EVALUATION
        kernels |= {"kernel_parts": [many, score], "priced_as": "stack", "graphs_by_kernels": of_graphs}
    benchmark = parts.benchmark
    pixels = prod(images.train_images.shape[1:])
    lesson = benchmark.lesson(images, parts.stream_seeds[0], 0)
    held_out = len(lesson.held_out)
    batches, batch = parts.interventions[0].passes(len(lesson.images))
    # The floats of one evaluation batch with all activations, counted twice as a margin.
    between = sum(prod(unit.produced) for unit in model.units)
    floats = 2 * AT_ONCE * (pixels + between)
    kept = benchmark.max_images * (2 if benchmark.transition_steps else 1)  # in a transition also the task before
    pairs = benchmark.tasks**2 if benchmark.eval_matrix else 0
    work = model.work()
    statistics = sum(first.size for first in model.statistics.values())
    seen = benchmark.total_epochs if parts.perturbation else 0  # epochs that also evaluate held-out images
    more = max(0, 2 * (len(model.design.layers) + len(model.statistics)) - FEWEST_TENSORS)
    return Cost(
        length=benchmark.total_steps,
        unit="steps",
        updates=benchmark.total_steps,
        flops=flops_of(model, benchmark.batch_size) + parts.operations(model.size, 2 * work * benchmark.batch_size),
        memory=(
            Share(
                (BYTES_A_PARAMETER + 4 * parts.copies) * model.size + 4 * (parts.numbers + statistics),
                f"the {model.size:,} parameters of its network",
                "a smaller network.width",
            ),
            Share(4 * floats + pixels * (kept + held_out), "images", "fewer benchmark.images"),
        ),
        speed="convolving" if any(unit.kind == "channel" for unit in model.units) else "dense",
        rows=benchmark.tasks + benchmark.total_epochs + pairs,
        epochs=benchmark.total_epochs,
        parameters=model.stored,
        # Without pairs, each task is evaluated once; with pairs, the untrained network is evaluated on every task.
        forwards=(pairs + benchmark.tasks + seen) * -(-held_out // AT_ONCE),
        forward_flops=2 * AT_ONCE * work,
        passes=batches * (benchmark.tasks - 1),
        pass_flops=flops_of(model, batch),
        looks=PASSES * seen,
        look_flops=2 * PROBE * work if seen else 0,
        looked=COLUMNS * seen,
        graph_size=1 + OF_A_TENSOR * more,
        graph_size_by_kernels=1 + OF_A_TENSOR_BY_KERNELS * more,
        **kernels,
    )


def flops_of(model: Model, batch_size: int) -> int:
    """Operations of one run's step in matrix products and convolutions.

    Two per multiplication, for the forward pass, the weights' gradients and the inputs' gradients (not in the first
    layer).
    """
    first, *others = (layer.work for layer in model.design.layers)
    held = model.held(lambda layer: layer.work)  # frozen layers have no gradient by their weights
    return 2 * batch_size * (2 * first + 3 * sum(others) + 2 * held)
