"""Networks in two halves, features and a head, and forward passes with frozen values in place of learned ones.

Legend: K runs, B examples, D numbers of an example, O numbers of an output.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.kernels.through import as_given
from plasticity_lab.networks.network import Activate, Arrays, Design, Layer, Network
from plasticity_lab.stacking.run_axis import beside

FROZEN = "frozen."
"""Prefix of the names of frozen parameters, behind the prefix of the network."""
GATE = "gate"
"""The frozen parameter that is 0 in a run before its change and 1 after it, (K, 1)."""
LIVE = ""
Features = Any
"""Tensors (K, B, ...): one, or several by name."""
Value = TypeVar("Value")


class ActivateBy(Protocol):
    """The activation at the n-th unit of a design, as in `networks.network.Activate`."""

    def __call__(self, site: int, x: Tensor, by: Mapping[str, Tensor] | None = None, /) -> Tensor:
        """The value of the activation.

        by: parameters with frozen values, for a further call at that unit: it has the same random numbers as the first
        call, and nothing records it.
        """
        ...


class Names(NamedTuple):
    """The names of a network's parameters by the half that reads them.

    shared: parameters of the activation that are the same at every place, so that both halves read them.
    """

    features: list[str]
    head: list[str]
    shared: list[str]


class InHalves(Network):
    """A network with a forward pass in two halves: features, and a head from them to the outputs.

    A subclass writes `head_inputs`, `head_outputs` and `head_names` instead of `forward`.
    """

    def head_inputs(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> Features:
        """Inputs (K, B, D) → the features."""
        raise NotImplementedError

    def head_outputs(
        self, design: Design, parameters: Mapping[str, Tensor], features: Features, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """The features → the outputs of `forward`."""
        raise NotImplementedError

    def head_names(self, design: Design) -> Collection[str]:
        """The names of the layers and units that the head has."""
        raise NotImplementedError

    def forward(
        self, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """(K, B, D) → the outputs, name → (K, B, O)."""
        features = self.head_inputs(design, parameters, x_KBD, activate, body)
        return self.head_outputs(design, parameters, features, activate, body)


def copy_of(name: str) -> str:
    """The prefix "frozen.<copy>." of a parameter in a frozen copy; "" for others.  name: without a network's prefix."""
    return "".join(f"{part}." for part in name.split(".")[:2]) if name.startswith(FROZEN) else ""


def in_halves(network: Network) -> bool:
    """Whether a network's forward pass consists of features and a head."""
    definer = next(each for each in type(network).__mro__ if "forward" in vars(each))  # it defines its halves too
    return isinstance(network, InHalves) and "head_outputs" in vars(definer)


def names_of(network: Network, design: Design, parameters: Collection[str]) -> Names:
    """The names of parameters by the half that reads them.  parameters: the names of all learned parameters."""
    assert isinstance(network, InHalves), "an intervention that changes other networks must object to them"
    of_head, found = network.head_names(design), Names([], [], [])
    for name in parameters:
        owner = name.rpartition(".")[0]
        if owner == f"{design.prefix}activation":
            found.shared.append(name)
        else:
            (found.head if owner.removesuffix(".activation") in of_head else found.features).append(name)
    return found


def frozen_of(network: Network, design: Design, live: Arrays, fresh: Arrays) -> dict[str, np.ndarray]:
    """The frozen parameters of one run of a network that changes, at the beginning: the gate is 0.

    live: the run's first parameters. fresh: another draw of them.
    """
    assert network.change is not None
    found = network.change.frozen(names_of(network, design, live), live, fresh)
    return {f"{design.prefix}{FROZEN}{name}": value for name, value in {GATE: np.zeros(1, np.float32), **found}.items()}


def moves_of(network: Network, design: Design, parameters: Collection[str]) -> dict[str, str]:
    """Parameter → the parameter with the value that it takes at the change.  parameters: all learned names."""
    assert network.change is not None

    def full(name: str) -> str:
        return f"{design.prefix}{name}" if name.startswith(FROZEN) else name

    moves = network.change.moves(names_of(network, design, parameters))
    return {full(to): full(of) for to, of in moves.items()}


def held_of(network: Network, design: Design, count: Callable[[Layer], int]) -> int:
    """The sum of a count over all frozen copies of layers.  count: a layer → for example its parameters."""
    assert isinstance(network, InHalves)
    assert network.change is not None
    of_head = network.head_names(design)
    return sum(network.change.held[layer.name in of_head] * count(layer) for layer in design.layers)


class Halves:
    """One forward pass of a network that changes: its halves, by learned or by frozen parameters.

    A call by learned parameters comes first: it is the call that diagnostics and interventions see. Calls by frozen
    parameters take the same random numbers, for randomised activations and for noisy layers.
    """

    def __init__(
        self, network: InHalves, design: Design, parameters: Mapping[str, Tensor], activate: ActivateBy, body: str
    ) -> None:
        self._network, self._design, self._parameters = network, design, parameters
        self._activate, self._body = activate, body
        self._by: dict[str, Mapping[str, Tensor]] = {LIVE: parameters}

    def features(self, x_KBD: Tensor, by: str = LIVE) -> Features:
        """The features of the inputs (K, B, D).

        by: the name of the frozen copy with the parameters to use, for those that it holds; empty: learned ones.
        """
        return self._network.head_inputs(self._design, self._values(by), x_KBD, self._activated(by), self._body)

    def head(self, features: Features, by: str = LIVE) -> dict[str, Tensor]:
        """The outputs of the head, name → (K, B, O).  by: see `features`."""
        return self._network.head_outputs(self._design, self._values(by), features, self._activated(by), self._body)

    def opened(self, after: Value, before: Value) -> Value:
        """For each run `after` if it has changed, otherwise `before`: tensors (K, ...), or several by name."""
        if isinstance(after, Mapping) and isinstance(before, Mapping):
            return {name: self.opened(value, before[name]) for name, value in after.items()}  # pyright: ignore
        assert isinstance(after, Tensor)
        assert isinstance(before, Tensor)
        gate = self._parameters[f"{self._design.prefix}{FROZEN}{GATE}"]
        return torch.where(beside(gate[:, 0], before) > 0, after, before)  # pyright: ignore

    def _values(self, by: str) -> Mapping[str, Tensor]:
        """The parameters, with the frozen copy's values under the names of the learned parameters."""
        if by not in self._by:
            prefix = f"{self._design.prefix}{FROZEN}{by}."
            own = {
                name.removeprefix(prefix): value for name, value in self._parameters.items() if name.startswith(prefix)
            }
            self._by[by] = as_given(self._parameters, {**self._parameters, **own})
        return self._by[by]

    def _activated(self, by: str) -> Activate:
        values = self._values(by)
        return self._activate if by == LIVE else lambda site, x: self._activate(site, x, values)


def outputs_of(
    network: Network, design: Design, parameters: Mapping[str, Tensor], x_KBD: Tensor, activate: ActivateBy, body: str
) -> dict[str, Tensor]:
    """The forward pass of a network, with its change if it has one."""
    if network.change is None:
        return network.forward(design, parameters, x_KBD, activate, body)
    assert isinstance(network, InHalves)
    return network.change.forward(Halves(network, design, parameters, activate, body), x_KBD)
