"""The activations of `kernels/stack_activation.h`. With them our kernels take many steps in one call.

Legend: K runs, N settings.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation

FUNCTIONS = {
    "relu": (),
    "leaky_relu": ("negative_slope",),
    "rrelu": ("lower", "upper"),
    "elu": ("alpha",),
    "celu": ("alpha",),
    "selu": ("alpha",),
    "randomized_selu": ("lower", "upper"),
    "sigmoid": (),
    "tanh": (),
    "swish": ("beta",),
    "smooth_leaky": ("steepness", "alpha"),
    "randomized_smooth_leaky": ("steepness", "lower", "upper"),
    "gelu": ("beta",),
}
"""`Activation.in_stack` → its settings on the run axis, in the order of the kernel."""


def name_of(activation: Activation) -> str | None:
    """Its name among `FUNCTIONS`, or None. A subclass may compute something else than the class that has the name."""
    return activation.in_stack if "in_stack" in vars(type(activation)) else None


def settings_of(name: str, settings: Mapping[str, Tensor]) -> Tensor:
    """The numbers that the kernel takes, (K, N) float32; for an activation without settings N is 0.

    settings: the settings of an activation with that name, (K,) each; {} only if it has none.
    """
    own = [settings[each].float() for each in FUNCTIONS[name]]
    return torch.stack(own, dim=1) if own else torch.empty(0, 0)
