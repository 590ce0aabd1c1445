"""Update rules: optimizers with a step that sees all parameters of a run at once, and functions for such rules.

Legend: K runs, E slices of a parameter, N numbers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.randomness.device import uniforms
from plasticity_lab.stacking.elementary import normals
from plasticity_lab.stacking.optimizer import Moments, Optimizer, Tensors
from plasticity_lab.stacking.products import run_sums
from plasticity_lab.stacking.run_axis import beside


class Place(Protocol):
    """The units, channels or experts that one layer produces: `networks.network.Unit`."""

    @property
    def name(self) -> str:
        """The name of the place."""
        ...

    @property
    def incoming(self) -> str:
        """The layer that produces them."""
        ...

    @property
    def outgoing(self) -> tuple[str, ...]:
        """The layers that receive them."""
        ...

    @property
    def produced(self) -> tuple[int, ...]:
        """The shape of one example."""
        ...


class RuleInputs(NamedTuple):
    """The arguments of one step. All tensors belong to active parameters; a parameter is (K, ...).

    parameters, moments, state: changed in place. moments: kind → parameter → like the parameter. state: as made by
        `Optimizer.start_state`, kind → name → (K, ...).
    gradients: parameter → like it, after the agent's clipping. They may have any layout in memory.
    settings: name → (K,) float64.
    correction: (key, parameter) → that row of `Optimizer.corrections`, ready to multiply with the parameter. Step
        counts differ: an environment's own parameters have a separate one, and so does each reset slice (K, E, ...).
    real: parameter → the number of its real columns along the last axis, if others are padding. A parameter with 0 real
        columns is a switch, which no rule changes. Absent: all columns are real.
    units: the places of units, for rules that use more than single weights.
    plain_step: another optimizer's step with the same gradients, moments and corrections.
    hidden: the layers between others, for rules that treat hidden matrices differently (`networks.layer_kinds`).
    keys (K, 2), count (): for random numbers (see `noise`). keys is None unless the rule declares `draws`.
    """

    parameters: Tensors
    gradients: Tensors
    moments: Moments
    state: Mapping[str, Tensors]
    settings: Tensors
    correction: Callable[[str, str], Tensor]
    real: Mapping[str, int]
    units: Sequence[Place]
    plain_step: Callable[[Optimizer], None]
    keys: Tensor | None
    count: Tensor
    hidden: Collection[str] = ()

    @property
    def names(self) -> list[str]:
        """The parameters to change, in an order that does not depend on the pack: all active ones except switches."""
        return sorted(name for name in self.parameters if self.real.get(name) != 0)


class UpdateRule(Optimizer):
    """An optimizer that is called once for each update of a network, with all its active parameters.

    Other optimizers may be called several times: for shared parameters, for parameters of one environment, for slices
    of experts. A subclass writes `step`; its numbers of a run must not depend on the other runs of the pack. Sums over
    a run by `run_product`, maxima by `run_maximum`, random numbers by `noise`: none of them reads padding. Padding must
    stay zero. An agent with several networks calls the rule for each of them.
    """

    draws: ClassVar[bool] = False
    """Whether it takes random numbers. Only then do the keys enter the compiled update."""

    def step(self, now: RuleInputs) -> None:
        """One step in place."""
        raise NotImplementedError


def real_part(values: Tensor, name: str, real: Mapping[str, int]) -> Tensor:
    """The values of a parameter without its padding.  values (K, ...)."""
    return values[..., : real[name]] if name in real else values


def run_maximum(values: Tensors, names: Collection[str], real: Mapping[str, int]) -> Tensor:
    """The largest number of each run over all these parameters, without padding, (K,)."""
    return reduce(torch.maximum, (real_part(values[name], name, real).flatten(1).amax(dim=1) for name in names))


def run_product(one: Tensors, other: Tensors, names: Collection[str]) -> Tensor:
    """The inner product of each run over all these parameters, (K,); padding of zeros adds nothing.

    The sums of the parameters are exact and are added one after the other.
    """
    return reduce(torch.add, (run_sums(one[name] * other[name]) for name in names))


def adam_direction(now: RuleInputs, name: str) -> Tensor:
    """m̂ / (√v̂ + ε) of Adam, like the parameter.  Changes its moments "first" and "second" in place.

    The rule's settings have beta1, beta2 and epsilon, and its corrections 1 / (1 − βᵗ) under the names of the moments.
    """
    gradient, first, second = now.gradients[name], now.moments["first"][name], now.moments["second"][name]
    take1, take2 = (beside((1 - now.settings[beta]).float(), gradient) for beta in ("beta1", "beta2"))
    beta2, epsilon = (beside(now.settings[key].float(), gradient) for key in ("beta2", "epsilon"))
    first.add_((gradient - first) * take1)
    second.mul_(beta2).add_(gradient * gradient * take2)
    root = (second * now.correction("second", name)).sqrt() + epsilon
    return first * now.correction("first", name) / root


def noise(now: RuleInputs, names: Sequence[str]) -> dict[str, Tensor]:
    """Independent standard normal numbers for these parameters, like them; 0 in padding.

    They are a function of the run's seed, the update and the position among the real numbers of `names`.
    """
    assert now.keys is not None, "a rule that draws must declare it"
    shapes = {name: real_part(now.parameters[name], name, now.real).shape for name in names}
    sizes = {name: shape[1:].numel() for name, shape in shapes.items()}
    total = sum(sizes.values())
    drawn, taken = normals(uniforms(now.keys, now.count, total + total % 2)), 0
    found: dict[str, Tensor] = {}
    for name in names:
        own = drawn[:, taken : taken + sizes[name]].reshape(shapes[name])
        more = now.parameters[name].shape[-1] - own.shape[-1]
        found[name] = pad(own, (0, more)) if more else own
        taken += sizes[name]
    return found
