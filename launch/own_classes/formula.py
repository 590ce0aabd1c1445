"""An activation's formula by itself: values and gradients of many runs at once against each of them alone.

A few updates of a small pack seldom meet the one number in twenty that some of torch's functions (sigmoid, softplus,
elu) compute otherwise in the last, incomplete vector of a tensor. Legend: K runs, B examples, D units, * any shape.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from launch.own_classes.named import Fault, OwnClass, place_of
from launch.own_classes.tiny import Tiny
from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.agents.agent import Learner
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import agent_of
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis

RUNS, ROWS = 30, 12
"""Rows in a multiple of 4, as batches are stored; with the odd width of a small network the last vector is incomplete.
"""
TITLE = f"its formula, {RUNS} runs at once"


def depends_on_place(own: OwnClass, tiny: Tiny, learner: Learner) -> Fault | None:
    """What is wrong with an activation whose values or gradients have other bits in a pack; else None."""
    runs = [tiny.runs[place % len(tiny.runs)] for place in range(RUNS)]
    parts = parts_of(runs)
    model = agent_of(runs[0]).model(parts, tiny.resource)
    start = model.start(parts.init_seeds, torch.device("cpu"))
    for unit in {len(unit.activated): unit for unit in model.units}.values():
        learned = model.learned_at(unit.name, start)
        draw = host_stream(0, "an activation's input", unit.name)
        x = torch.from_numpy(draw.normal(0, 3, (RUNS, ROWS, *unit.activated)).astype(np.float32))
        drawn = torch.from_numpy(draw.random(x.shape, np.float32)) if parts.activations[0].randomised else None
        together = _computed(parts.activations[0], parts.activations, x, learned, drawn)
        alone = runs[0].component("activation", Activation)
        for k in range(RUNS):
            one = {name: value[k : k + 1] for name, value in learned.items()}
            own_drawn = None if drawn is None else drawn[k : k + 1]
            by_itself = _computed(alone, parts.activations[k : k + 1], x[k : k + 1].clone(), one, own_drawn)
            for name, ours, theirs in zip(("value", "gradient"), by_itself, together, strict=True):
                if ours[0].numpy().tobytes() != theirs[k].numpy().tobytes():
                    what = (
                        f"its {name} has other bits at place {k + 1} of {RUNS} than alone; torch's sigmoid, silu, elu, "
                        "celu, selu and softplus depend on the place, and docs/recipes/activation.md says what does not"
                    )
                    return Fault(what, place_of(own.cls, "__call__"))
    return None


def _computed(
    activation: Activation, runs: Sequence[Activation], x: Tensor, learned: dict[str, Tensor], drawn: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The activation of x (K, B, *) and the gradient of its sum.  runs: those whose settings stand on the run axis."""
    site = Site(on_run_axis(runs), learned, drawn)

    def summed(x: Tensor) -> tuple[Tensor, Tensor]:
        h = activation(x, site)
        return h.sum(), h

    gradient, h = torch.func.grad(summed, has_aux=True)(x)
    return h.detach(), gradient
