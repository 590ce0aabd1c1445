"""The packs that a check trains, with the meaning of a difference, and further checks for the classes of one group.

Legend: K runs, B examples, D units, * any shape.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from launch.own_classes.named import Fault, OwnClass, place, place_of
from launch.own_classes.packs import Scale
from launch.own_classes.tiny import Tiny
from launch.runs.files import table_in
from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.agents.agent import Learner
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import agent_of
from plasticity_lab.networks.units import OF_UNITS
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.normed import linear_of
from plasticity_lab.stacking.run_axis import on_run_axis

_DATA = table_in("own_classes/cases.yaml")
OTHER_PROCESS: str = _DATA["whys"]["other_process"]
RUNS, ROWS = 30, 12
"""ROWS is a multiple of 4, as in stored batches; with the odd width of a small network the last vector is incomplete.
"""


@dataclass(frozen=True)
class Case:
    """One pack; its runs must have the same numbers as alone.

    title: the pack in words. runs: the small runs in it. why: the meaning of a difference. scaled: position in the pack
    → the scale of this run's parameters; the numbers of a scaled run are not compared.
    """

    title: str
    runs: Sequence[int]
    why: str
    interrupted: bool = False
    scaled: Mapping[int, Scale] = field(default_factory=dict)


def _case(title: str, runs: Sequence[int], why: str, **how: Any) -> Case:
    """A case from its entry in the file."""
    scaled = {position: Scale(**scale) for position, scale in how.pop("scaled", {}).items()}
    return Case(title, runs, _DATA["whys"][why], scaled=scaled, **how)


CASES = [_case(**case) for case in _DATA["cases"]]
AFRESH = _case("in a fresh process, after the pack of other runs of another length", [2, 0], "left_behind")


def of_extremes(tiny: Tiny) -> list[Case]:
    """Packs of two runs, one with an unusual value of the class's settings, in both orders."""
    cases = []
    for extreme, words in tiny.extremes.items():
        cases.append(_case(f"in a pack after a run with {words}", [extreme, 1], "first"))
        cases.append(_case(f"in a pack before a run with {words}", [1, extreme], "first"))
    return cases


def depends_on_place(own: OwnClass, tiny: Tiny, learner: Learner) -> Fault | None:
    """The fault of an activation with other bits in a pack than alone, in values or gradients; None if they are equal.

    Some of torch's functions (sigmoid, softplus, elu) compute the last, incomplete vector of a tensor differently. Only
    one number in twenty differs, so a few updates of a small pack seldom show it.
    """
    runs = [tiny.runs[number % len(tiny.runs)] for number in range(RUNS)]
    parts = parts_of(runs)
    model = agent_of(runs[0]).model(parts, tiny.resource)
    start = model.start(parts.init_seeds, torch.device("cpu"))
    alone = runs[0].component("activation", Activation)
    for unit in {len(unit.activated): unit for unit in model.units}.values():
        learned = model.learned_at(unit.name, start)
        draw = host_stream(0, "an activation's input", unit.name)
        x = torch.from_numpy(draw.normal(0, 3, (RUNS, ROWS, *unit.activated)).astype(np.float32))
        drawn = torch.from_numpy(draw.random(x.shape, np.float32)) if parts.activations[0].randomised else None
        packed = _computed(parts.activations[0], parts.activations, x, learned, drawn)
        for k in range(RUNS):
            one = slice(k, k + 1)
            learned_k = {name: value[one] for name, value in learned.items()}
            drawn_k = None if drawn is None else drawn[one]
            by_itself = _computed(alone, parts.activations[one], x[one].clone(), learned_k, drawn_k)
            for name, ours, theirs in zip(("value", "gradient"), by_itself, packed, strict=True):
                if ours[0].numpy().tobytes() != theirs[k].numpy().tobytes():
                    what = (
                        f"its {name} has other bits at place {k + 1} of {RUNS} than alone; torch's sigmoid, silu, elu, "
                        "celu, selu and softplus depend on the place; docs/pages/how_to/add/activation.md names others"
                    )
                    return Fault(what, place_of(own.cls, "__call__"))
    return None


def _computed(
    activation: Activation, runs: Sequence[Activation], x: Tensor, learned: dict[str, Tensor], drawn: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The activation of x (K, B, *) and the gradient of its sum.  runs: their settings go on the run axis."""
    site = Site(on_run_axis(runs), learned, drawn)

    def summed(x: Tensor) -> tuple[Tensor, Tensor]:
        h = activation(x, site)
        return h.sum(), h

    gradient, h = torch.func.grad(summed, has_aux=True)(x)
    return h.detach(), gradient


def changes_padding(own: OwnClass, tiny: Tiny, learner: Learner) -> Fault | None:
    """The fault of a class that changes the zero columns that fill up narrow layers; None if they stay zero."""
    model = agent_of(tiny.runs[0]).model(parts_of(tiny.runs), tiny.resource)
    weights = learner.weights()
    for layer in map(linear_of, model.design.layers):
        for part in OF_UNITS:
            values = weights.get(f"{layer.name}.{part}")
            if values is not None and values[..., layer.outputs :].any():
                what = (
                    f"{layer.name}.{part} is stored with {values.shape[-1]} columns for {layer.outputs} units, and "
                    "those that fill it up are no longer zero; change the columns up to layer.outputs alone"
                )
                return Fault(what, place(own.cls))
    return None


_PADDING = {"columns that fill up a layer stay zero": changes_padding}
FURTHER_CHECKS: Mapping[str, Mapping[str, Callable[[OwnClass, Tiny, Learner], Fault | None]]] = {
    "activation": {f"its formula, {RUNS} runs at once": depends_on_place},
    "intervention": _PADDING,
    "optimizer": _PADDING,
}
"""Group → title → check."""
