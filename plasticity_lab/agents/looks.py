"""What diagnostics add to what a run costs: passes, memory while they look, and numbers in its metrics."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.evenly_spread import PROBE
from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.networks.model import Model

COPIES = 3
"""Of all that stands between the layers: before and after activations, and what is made of it meanwhile; a margin."""


def with_looks(cost: Cost, diagnostics: Mapping[str, Diagnostic], model: Model, tasks: int) -> Cost:
    """The cost of a run that is looked at.  tasks: how many it learns."""
    if not diagnostics:
        return cost
    looks = {name: each.looks(cost.epochs, tasks) for name, each in diagnostics.items()}
    passes = sum(looks[name] * each.passes for name, each in diagnostics.items())
    between = sum(prod(unit.activated) + prod(unit.produced) for unit in model.units)
    seen = Share(4 * COPIES * PROBE * between, "what diagnostics look at", "fewer diagnostics")
    return replace(
        cost,
        looks=cost.looks + passes + max(looks.values()),  # they share the forward pass
        look_flops=2 * PROBE * sum(layer.work for layer in model.design.layers),
        looked=cost.looked + sum(looks[name] * len(each.columns(model.units)) for name, each in diagnostics.items()),
        memory=(*cost.memory, seen),
    )
