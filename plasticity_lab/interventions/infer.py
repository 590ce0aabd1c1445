"""InFeR: heads on the features that go on fitting the outputs of the network at birth.

Legend: K runs, B examples, F features, H heads.
"""

from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor

from plasticity_lab.component import Others, check
from plasticity_lab.interventions.declared import restarts
from plasticity_lab.interventions.intervention import OUTPUTS, Intervention
from plasticity_lab.interventions.now import Now, State, Tensors
from plasticity_lab.networks.encoder import lacking_features
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import passed_on, read_by_outputs
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.update_rule import UpdateRule

BIRTH = "birth "
"""Prefix of the state's entries for the network at birth."""


class InFeR(Intervention):
    """strength · mean over the batch of Σ (gᵢ(φ(x)) − scale · gᵢ⁰(φ⁰(x)))² over the heads, per run, in the loss.

    φ are the features: the values that the output layers read. gᵢ are `heads` linear heads on them, which the run's
    optimizer trains; φ⁰ and gᵢ⁰ are network and heads at birth, which never change. φ⁰ is computed in evaluation mode,
    so a randomised activation has its mean slope there.

    mean: whether the squares are averaged over the heads, as in the port, instead of added up. The heads are no part of
    the network: its size, its weights in records and its target do not include them. Their moments are in the state,
    under "<moment> of <name>", and share the network's step count.
    Source: Lyle, Rowland & Dabney 2022, eq. 3.
    """

    requires = frozenset({OUTPUTS})
    objects_to = frozenset({"head", "intervention", "network", "optimizer"})
    watches_outputs = True
    learned = ("heads.weight", "heads.bias")
    forwards = 1
    copies = 2  # the network at birth

    def __init__(self, strength: float = 0.1, scale: float = 100.0, heads: int = 10, mean: bool = False) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.scale = check("intervention.scale", scale, above=0)
        self.heads = check("intervention.heads", heads, at_least=1)
        self.mean = mean

    def objection(self, others: Others) -> str | None:
        """It needs features of an activation without routing, an optimizer that needs moments and corrections alone,
        and one network at birth.
        """
        if "head" in others and isinstance(others.one("head", Head), MoE):
            return "its heads read the values before the output layer, and experts pass on sums of slots instead"
        if isinstance(others.one("optimizer", Optimizer), UpdateRule):
            return "its heads are trained apart from the network, and this optimizer's step depends on all parameters"
        if restarts(others):
            return "its heads would fit the outputs of the run's first network on the features of each task's fresh one"
        return super().objection(others) or lacking_features(others)

    def start(self, now: Now) -> State:
        """The network at birth, "birth <name>", and the heads: weight (K, F, H) as stored, and bias."""
        layer = self._layer(now.model, now.parameters)
        drawn = [layer.start(host_stream(seed, "infer"), "default", 1.0) for seed in now.seeds]
        first = next(iter(now.parameters.values()))
        heads = {name: torch.stack([torch.from_numpy(of[name]) for of in drawn]).to(first.device) for name in drawn[0]}
        network = {f"{BIRTH}{name}": value.clone() for name, value in now.network.items()}
        return {**heads, **{f"{BIRTH}{name}": value.clone() for name, value in heads.items()}, **network}

    def penalty(self, now: Now) -> Tensor:
        """(K,)."""
        assert now.forward is not None
        assert now.x is not None
        layer = self._layer(now.model, now.parameters)
        at_birth = {name: now.state[f"{BIRTH}{name}"] for name in (*now.network, *self.learned)}
        _, hidden = now.forward(at_birth, now.x)
        targets_KBH = layer(at_birth, _features(now.model, at_birth, hidden)).detach()
        outputs_KBH = layer(now.state, _features(now.model, now.parameters, now.hidden))
        scale, strength = now.settings["scale"].view(-1, 1, 1), now.settings["strength"]
        differences = outputs_KBH - scale * targets_KBH
        squares_KBH = differences * differences
        squares_KBH = squares_KBH / self.heads if self.mean else squares_KBH
        return strength * now.mean_over_batch(squares_KBH)

    def _layer(self, model: Model, parameters: Tensors) -> StackedLinear:
        return StackedLinear(
            "heads", sum(_size(model, unit) for unit in read_by_outputs(model, parameters)), self.heads
        )


def _size(model: Model, unit: Unit) -> int:
    """The numbers that an example has behind a unit's activation."""
    return passed_on(model, unit) * prod(unit.produced[1:])


def _features(model: Model, parameters: Mapping[str, Tensor], hidden: Tensors) -> Tensor:
    """(K, B, F), the units one after the other."""
    parts = [hidden[unit.name].flatten(2) for unit in read_by_outputs(model, parameters)]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
