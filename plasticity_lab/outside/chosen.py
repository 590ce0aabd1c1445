"""The diagnostics of a module: which there are, and which of them a module has."""

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from typing import cast

from plasticity_lab.diagnostics.churn import Churn
from plasticity_lab.diagnostics.curvature import Curvature
from plasticity_lab.diagnostics.dead_units import DeadUnits
from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.diagnostics.dormant_units import DormantUnits
from plasticity_lab.diagnostics.duplicate_units import DuplicateUnits
from plasticity_lab.diagnostics.feature_rank import FeatureRank
from plasticity_lab.diagnostics.gradient_noise import GradientNoise
from plasticity_lab.diagnostics.gradient_rank import GradientRank
from plasticity_lab.diagnostics.grama import GraMa
from plasticity_lab.diagnostics.learned_slopes import LearnedSlopes
from plasticity_lab.diagnostics.negative_slope import NegativeSlope
from plasticity_lab.diagnostics.norms import Norms
from plasticity_lab.diagnostics.places import ALL, AUTO
from plasticity_lab.diagnostics.saturated import Saturated
from plasticity_lab.diagnostics.zero_gradient_units import ZeroGradientUnits
from plasticity_lab.errors import InputError
from plasticity_lab.networks.model import Model
from plasticity_lab.outside.network import LINEAR, LayerCall, ModuleNetwork

OF_ONE_MOMENT: Mapping[str, type[Diagnostic]] = {
    "dead_units": DeadUnits, "dormant_units": DormantUnits, "duplicate_units": DuplicateUnits, "saturated": Saturated,
    "negative_slope": NegativeSlope, "feature_rank": FeatureRank, "learned_slopes": LearnedSlopes, "grama": GraMa,
    "zero_gradient_units": ZeroGradientUnits, "gradient_noise": GradientNoise, "gradient_rank": GradientRank,
    "curvature": Curvature,
}  # fmt: skip
"""Diagnostics that need no earlier measurement."""
WITHOUT_UNITS = (FeatureRank, GradientNoise, GradientRank, Curvature, Norms, Churn)
"""Diagnostics that do not read the outputs of activations."""


def diagnostics_of(chosen: Iterable[Diagnostic | str] | None) -> list[tuple[str, Diagnostic]]:
    """Names and diagnostics; None: all of OF_ONE_MOMENT with their default settings.  Raises InputError."""
    found = []
    for each in OF_ONE_MOMENT if chosen is None else [chosen] if isinstance(chosen, str | Diagnostic) else chosen:
        if isinstance(each, Diagnostic):
            found.append((type(each).__name__, each))
        elif each in OF_ONE_MOMENT:
            found.append((each, OF_ONE_MOMENT[each]()))
        else:
            raise InputError(f"There is no diagnostic {each!r}; there are {', '.join(OF_ONE_MOMENT)}.")
    return found


def fitted(
    diagnostic: Diagnostic, network: ModuleNetwork, trained: Collection[str]
) -> tuple[Diagnostic, ModuleNetwork | None]:
    """The diagnostic, and the network with the places that it measures; None if it measures nothing here.

    Raises InputError if the module lacks a needed part, ConfigError if a setting names no layer.
    """
    model = cast(Model, network)
    if isinstance(diagnostic, Curvature):
        diagnostic.applies_to(model)
        return _by_parameter(diagnostic, network, trained), network
    if isinstance(diagnostic, GradientRank) and diagnostic.layer == AUTO:
        _second_linear(network)
    if isinstance(diagnostic, GradientNoise) or getattr(diagnostic, "layer", None) == ALL:
        return diagnostic, network  # also for layers with weights that are computed
    if isinstance(diagnostic, WITHOUT_UNITS):
        return diagnostic, network if diagnostic.applies_to(model) else None
    if not network.places:
        raise InputError(
            "The module has no activation between two layers that can be seen (nn.LSTM and nn.GRU compute theirs "
            "inside), so that it has no units to measure."
        )
    kinds = [*dict.fromkeys(type(place.activation) for place in network.places)]
    fit = [kind for kind in kinds if diagnostic.applies_to(cast(Model, network.only([kind])))]
    return diagnostic, None if not fit else network if fit == kinds else network.only(fit)


def _by_parameter(diagnostic: Curvature, network: ModuleNetwork, trained: Collection[str]) -> Curvature:
    """The same with a block that names a parameter, or all.  Raises InputError for a weight that is not trained."""
    if diagnostic.block == ALL or diagnostic.block in trained:
        return diagnostic
    call = _second_linear(network) if diagnostic.block == AUTO else network.call(diagnostic.block)
    if call is None or call.weight[0] not in trained:
        raise InputError(f"diagnostics.block is {diagnostic.block}; its weight is not trained: choose another one.")
    found = copy(diagnostic)
    found.block = call.weight[0]
    return found


def _second_linear(network: ModuleNetwork) -> LayerCall:
    """The second linear layer, or the only one.  Raises InputError if its weight is not one parameter."""
    calls = {call.weight: call for call in reversed(network.layers) if call.node.name in LINEAR}
    if not calls:
        raise InputError("The module has no linear layer; choose a block or a layer by its name, or all.")
    second = [*reversed(calls.values())][:2][-1]
    if len(second.weight) != 1:
        raise InputError(
            f"The weight of the second linear layer, {second.name}, is computed from {' and '.join(second.weight)}; "
            "choose another block or layer by its name, a parameter by its name, or all."
        )
    return second
