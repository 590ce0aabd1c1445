"""A torch module as what diagnostics know: layers, places of units, and a forward pass that can be tapped.

Legend: B examples, * the shape of one example. The run axis has one run.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, linear

from plasticity_lab.activations.activation import Activation, Site
from plasticity_lab.activations.elu import ELU
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.sigmoid import Sigmoid
from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.errors import InputError
from plasticity_lab.networks.network import Activate, Design, Unit
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.run_axis import on_run_axis

OURS: Mapping[type[nn.Module], Callable[[Any], Activation]] = {
    nn.ReLU: lambda own: ReLU(),
    nn.Tanh: lambda own: Tanh(),
    nn.Sigmoid: lambda own: Sigmoid(),
    nn.ELU: lambda own: ELU(own.alpha),
    nn.LeakyReLU: lambda own: LeakyReLU(own.negative_slope),
    nn.PReLU: lambda own: PReLU("neuron" if own.num_parameters > 1 else "layer"),
}
"""Kinds of modules of which we know the family, and so when a unit is dead."""
OTHERS = (nn.GELU, nn.SiLU, nn.SELU, nn.CELU, nn.Softplus, nn.Mish, nn.Hardswish, nn.Hardtanh, nn.ReLU6, nn.LogSigmoid)
"""Others that make one value of one: their units are judged by their size alone."""


class ModuleLinear(StackedLinear):
    """A linear layer with the module's own parameters: weight (1, outputs, inputs), which has no padding."""

    @property
    def padded(self) -> int:
        """None is."""
        return self.outputs

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (1, B, inputs) → (1, B, outputs)."""
        bias = parameters.get(f"{self.name}.bias")
        return linear(x[0], parameters[f"{self.name}.weight"][0], None if bias is None else bias[0]).unsqueeze(0)


@dataclass(frozen=True)
class ModuleConv2d(StackedConv2d):
    """A convolution with the module's own parameters.  around: rows and columns of zeros on each side."""

    around: int = 0

    @cached_property
    def linear(self) -> StackedLinear:
        """The map from a patch to the output channels."""
        return ModuleLinear(self.name, self.image[0] * self.kernel**2, self.outputs)

    @property
    def margins(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The same on all sides."""
        return (self.around, self.around), (self.around, self.around)

    def __call__(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """x (1, B, C, H, W) → (1, B, O, H', W')."""
        bias = parameters.get(f"{self.name}.bias")
        weight = parameters[f"{self.name}.weight"][0]
        own = None if bias is None else bias[0]
        return conv2d(x[0], weight, own, stride=self.stride, padding=self.around).unsqueeze(0)


class ModuleActivation(Activation):
    """An activation of torch, by itself."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def on_run_axis(self) -> dict[str, float]:
        """Nothing."""
        return {}

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """x (1, *) → like x."""
        return self.module.forward(x)  # without the hooks by which a pass comes here


class ModuleNetwork:
    """What diagnostics ask of a `Model`, of one module.

    x: a batch by which its layers are met, in their order. Raises InputError where it has no activation among its
    modules, or several kinds of them, or calls one of these twice.
    """

    def __init__(self, module: nn.Module, x: Tensor) -> None:
        self.module, self.network, self.prefix = module, self, ""
        self.layers: dict[str, nn.Module] = {}
        self.places: dict[str, int] = {}
        self.activation, met = ReLU(), list[tuple[str, nn.Module, Tensor]]()
        with ExitStack() as hooks:
            for name, own in module.named_modules():
                if isinstance(own, (nn.Linear, nn.Conv2d, *OURS, *OTHERS)):
                    handle = own.register_forward_hook(
                        lambda own, given, made, name=name: met.append((name, own, given[0].detach()))
                    )
                    hooks.callback(handle.remove)
            with torch.no_grad():
                module(x)
        self._lay_out(met)

    @property
    def units(self) -> list[Unit]:
        """One place for each activation."""
        return list(self.design.units)

    def start(self, seeds: Any, device: torch.device) -> dict[str, Tensor]:
        """The names of its parameters, with what they are now."""
        return self.parameters()

    def parameters(self) -> dict[str, Tensor]:
        """The module's, with a run axis of one."""
        return {name: value.detach().unsqueeze(0) for name, value in self.module.named_parameters()}

    def owner(self, parameter: str) -> None:
        """There is one body."""
        return None

    def learned_at(self, unit: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The slopes of a PReLU."""
        return {"slope": parameters[f"{unit}.weight"]} if isinstance(self.activation, PReLU) else {}

    def settings(self) -> dict[str, Mapping[str, Tensor]]:
        """As a view has them."""
        like = next(self.module.parameters())
        return {"activation": on_run_axis([self.activation], like.device, like.dtype)}

    def forward_pass(
        self, parameters: Mapping[str, Tensor], x: Tensor, before: dict[str, Tensor] | None = None
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The outputs and the activations by place, (1, B, *), and where they are asked for what these were given."""
        hidden: dict[str, Tensor] = {}

        def activate(site: int, z: Tensor) -> Tensor:
            unit, shape = self.units[site].name, self.settings()["activation"]
            hidden[unit] = self.activation(z, Site(shape, self.learned_at(unit, parameters)))
            if before is not None:
                before[unit] = z
            return hidden[unit]

        return self.network.forward(self.design, parameters, x, activate, ""), hidden

    def forward(self, *given: Any, **more: Any) -> Any:
        """As `Model.forward` where a view asks; as `Network.forward` where it goes on with the design's layers."""
        if isinstance(given[0], Design):
            return self._through(*given)
        parameters, _, x = given[:3]
        return self.forward_pass(parameters, x, more.get("before"))

    def _through(
        self, design: Design, parameters: Mapping[str, Tensor], x: Tensor, activate: Activate, body: str
    ) -> dict[str, Tensor]:
        """The module's own forward pass, in which the design's layers and the activation take their places."""
        by_name = {layer.name: layer for layer in design.layers}

        def taken(name: str) -> Callable[..., Tensor]:
            def layer(own: nn.Module, given: tuple[Tensor, ...], made: Tensor) -> Tensor:
                return by_name[name](parameters, given[0].unsqueeze(0))[0]

            def place(own: nn.Module, given: tuple[Tensor, ...], made: Tensor) -> Tensor:
                return activate(self.places[name], given[0].unsqueeze(0))[0]

            return place if name in self.places else layer

        with ExitStack() as hooks:
            for name in (*by_name, *self.places):
                hooks.callback(self.module.get_submodule(name).register_forward_hook(taken(name)).remove)
            own = {name: value[0] for name, value in parameters.items()}
            return {"output": torch.func.functional_call(self.module, own, (x[0],)).unsqueeze(0)}

    def _lay_out(self, met: list[tuple[str, nn.Module, Tensor]]) -> None:
        names = [name for name, _, _ in met]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"The module calls {twice[0]} more than once; diagnostics need a module for each place.")
        activations = [(name, own, given) for name, own, given in met if isinstance(own, (*OURS, *OTHERS))]
        kinds = {type(own).__name__ for _, own, _ in activations}
        if len(kinds) != 1:
            known = ", ".join(kind.__name__ for kind in (*OURS, *OTHERS))
            found = f"has several kinds of activations ({', '.join(sorted(kinds))})" if kinds else "has no activation"
            raise InputError(f"The module {found} among its modules; it must have one kind, of {known}.")
        first = activations[0][1]
        self.activation = OURS[type(first)](first) if type(first) in OURS else ModuleActivation(first)
        layers = [layer for name, own, given in met if (layer := _layer(name, own, given)) is not None]
        self.places = {name: at for at, (name, _, _) in enumerate(activations)}
        laid = {layer.name for layer in layers}
        units = []
        for name, _, given in activations:
            before = [each for each in names[: names.index(name)] if each in laid]
            after = [each for each in names[names.index(name) :] if each in laid]
            if not before:
                raise InputError(f"No linear layer or convolution that is known stands before {name}.")
            shape = tuple(given.shape[1:])
            kind = "channel" if len(shape) == 3 else "unit"
            units.append(Unit(name, shape, before[-1], (after[0] if after else before[-1],), kind=kind))
        self.design = Design(layers, units, {"output": [each for each in names if each in laid][-1]})


def _layer(name: str, own: nn.Module, given: Tensor) -> ModuleLinear | ModuleConv2d | None:
    """A layer as ours; None of what diagnostics cannot look into, which stays as it is."""
    if isinstance(own, nn.Linear) and given.dim() == 2:
        return ModuleLinear(name, own.in_features, own.out_features)
    if not isinstance(own, nn.Conv2d) or given.dim() != 4 or isinstance(own.padding, str):
        return None
    around, *_ = own.padding
    alike = all(len({*each}) == 1 for each in (own.kernel_size, own.stride, own.padding, own.dilation))
    if alike and own.padding_mode == "zeros" and own.groups == own.dilation[0] == 1:
        image = (own.in_channels, given.shape[2], given.shape[3])
        return ModuleConv2d(name, image, own.out_channels, own.kernel_size[0], "valid", own.stride[0], int(around))
    return None
