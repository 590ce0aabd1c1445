"""The laboratory's activations as modules: `activation("rational", version="A")`."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function_unary

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError

CLASSES = {
    "aid": "aid.AID",
    "bo_prelu": "prelu.BoundedPReLU",
    "celu": "celu.CELU",
    "crelu": "crelu.CReLU",
    "deep_fourier": "deep_fourier.DeepFourier",
    "elu": "elu.ELU",
    "gelu": "gelu.GELU",
    "hadamard": "hadamard.Hadamard",
    "leaky_relu": "leaky_relu.LeakyReLU",
    "prelu": "prelu.PReLU",
    "rand_smooth_leaky": "smooth_leaky.RandomizedSmoothLeaky",
    "rational": "rational.Rational",
    "relu": "relu.ReLU",
    "rrelu": "rrelu.RReLU",
    "rselu": "selu.RandomizedSELU",
    "selu": "selu.SELU",
    "sigmoid": "sigmoid.Sigmoid",
    "smooth_leaky": "smooth_leaky.SmoothLeaky",
    "swiglu": "swiglu.SwiGLU",
    "swish": "swish.Swish",
    "tanh": "tanh.Tanh",
}
"""Name → its class in `plasticity_lab.activations`."""


class OurActivation(nn.Module):
    """An activation of the laboratory, for inputs (B, D, *), with the D units at `axis`.

    Its learned values are parameters of the module; places that share them share the module. A random one draws from
    torch's generator in training, and takes the mean in evaluation. `expansion`: number of values passed on for each
    unit. Numbers with fewer than 32 bits are computed in float32.
    """

    is_our_activation = True

    def __init__(self, name: str, own: Activation, units: int, axis: int) -> None:
        super().__init__()
        self.name, self.own, self.axis, self.expansion = name, own, axis, own.expansion
        for key, value in own.on_run_axis().items():
            self.register_buffer(f"shape_{key}", torch.tensor([value], dtype=torch.float32), persistent=False)
        self._learned = {key: nn.Parameter(torch.tensor(each.start)) for key, each in own.learnable(units).items()}
        for key, value in self._learned.items():
            self.register_parameter(key, value)
        self._learned = list(self._learned)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, D, *) → the same, with D times `expansion`."""
        return our_activation(x, self)

    def gain(self) -> float:
        """The Kaiming gain of the layer before."""
        return self.own.gain()

    def extra_repr(self) -> str:
        """Its name and settings."""
        settings = ", ".join(f"{key}={value}" for key, value in vars(self.own).items() if not key.startswith("_"))
        return f"{self.name}{', ' if settings else ''}{settings}"

    def on_stack(self, stack: Tensor, uniform: Tensor | None = None) -> Tensor:
        """The formula on a stack of one run, (1, B, D, *).  uniform: random numbers like the stack; None: the mean."""
        shape = {key: getattr(self, f"shape_{key}") for key in self.own.on_run_axis()}
        learned = {key: getattr(self, key).unsqueeze(0) for key in self._learned}  # not always parameters, in copies
        return self.own(stack, Site(shape, learned, uniform))

    def compute(self, x: Tensor) -> Tensor:
        """The module's value."""
        low = x.dtype in (torch.float16, torch.bfloat16)
        rows = (x.float() if low else x).movedim(self.axis, 1) if x.dim() > 1 else x.unsqueeze(0)
        draw = self.training and self.own.randomised
        uniform = torch.rand(rows.shape, device=x.device) if draw else None
        of = None if uniform is None else uniform.unsqueeze(0)
        made = self.on_stack(rows.unsqueeze(0), of).squeeze(0)
        made = made.movedim(1, self.axis) if x.dim() > 1 else made.squeeze(0)
        return made.to(x.dtype) if low else made


def our_activation(x: Tensor, module: OurActivation) -> Tensor:
    """The module's value; one function for torch's function modes, whatever it is made of."""
    if has_torch_function_unary(x):
        return handle_torch_function(our_activation, (x,), x, module)
    return module.compute(x)


def activation(name: str, *, units: int | None = None, axis: int = 1, **settings: Any) -> OurActivation:
    """A module of the laboratory's activation of that name.  settings: as in conf/activation.

    units: number of units at the place, if each has learned values. axis: the units' axis in its input; 1
    also for images, −1 for tokens (B, T, D). Raises ConfigError for an unknown name or setting.
    """
    if name not in CLASSES:
        raise ConfigError(f"There is no activation '{name}'; choose one of {', '.join(CLASSES)}.")
    own = build("activation", name, f"plasticity_lab.activations.{CLASSES[name]}", settings)
    assert isinstance(own, Activation)
    apart = any(len(each.start) != len(own.learnable(1)[key].start) for key, each in own.learnable(2).items())
    if apart and units is None:
        raise ConfigError(f"activation={name} learns a value for each unit; give activation(..., units=their number).")
    return OurActivation(name, own, units or 1, axis)
