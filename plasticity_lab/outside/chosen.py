"""The diagnostics of a module: which there are, and which of them a module has."""

from collections.abc import Iterable, Mapping, Sequence

from plasticity_lab.activations.activation import Activation
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
from plasticity_lab.outside.network import ModuleNetwork

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


def network_for(diagnostic: Diagnostic, network: ModuleNetwork, trained: Iterable[str]) -> ModuleNetwork | None:
    """The network with the places that a diagnostic measures; None if it measures nothing here.

    Raises InputError if the module lacks a needed part, ConfigError if a setting names no layer.
    """
    if isinstance(diagnostic, WITHOUT_UNITS):
        _check_layer(diagnostic, network, {*trained})
        if isinstance(diagnostic, GradientNoise) or getattr(diagnostic, "layer", None) == ALL:
            return network  # also of layers with weights that are computed
        return network if diagnostic.applies_to(network) else None  # pyright: ignore[reportArgumentType]
    if not network.places:
        raise InputError(
            "The module has no activation between two layers that can be seen (nn.LSTM and nn.GRU compute theirs "
            "inside), so that it has no units to measure."
        )
    kinds: Sequence[type[Activation]] = [*dict.fromkeys(type(place.activation) for place in network.places)]
    fit = [kind for kind in kinds if diagnostic.applies_to(network.only([kind]))]  # pyright: ignore[reportArgumentType]
    if not fit:
        return None
    return network if fit == kinds else network.only(fit)


def _check_layer(diagnostic: Diagnostic, network: ModuleNetwork, trained: set[str]) -> None:
    """Raises InputError if the second linear layer has no weight that is one trained parameter."""
    if AUTO not in (getattr(diagnostic, "block", None), getattr(diagnostic, "layer", None)):
        return
    linear = [call for call in network.layers if call.node.name == "linear"]
    if not linear:
        raise InputError("The module has no linear layer; choose a block or a layer by its name, or all.")
    second = [*dict.fromkeys(call.name for call in linear)][:2][-1]
    call = next(each for each in linear if each.name == second)
    if call.weight != (f"{second}.weight",) or f"{second}.weight" not in trained:
        how = f"made of {' and '.join(call.weight)}" if call.weight else "not one"
        raise InputError(
            f"The weight of the second linear layer, {second}, is no trained parameter called {second}.weight (it is "
            f"{how}); choose another block or layer by its name, a parameter by its name, or all."
        )
