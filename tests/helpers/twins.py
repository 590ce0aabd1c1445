"""A torch module and the same network of the laboratory, with the same first numbers; and conversions by hand."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, pad, relu

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU

CLASSES = 5


class TorchMLP(nn.Module):
    """The MLP with the laboratory's names; it keeps its activations."""

    def __init__(self, inputs: int = 16, width: int = 7, norm: bool = False) -> None:
        super().__init__()
        self.hidden1, self.hidden2 = nn.Linear(inputs, width), nn.Linear(width, width)
        self.output = nn.Linear(width, CLASSES)
        self.norm1, self.norm2 = (nn.LayerNorm(width) if norm else nn.Identity() for _ in range(2))
        self.seen: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        first = relu(self.norm1(self.hidden1(x.flatten(1))))
        second = relu(self.norm2(self.hidden2(first)))
        self.seen = {"hidden1": first, "hidden2": second}
        return self.output(second)


class TorchCNN(nn.Module):
    """The CNN with the laboratory's names: an activation as a module and in place, and others as functions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3)
        self.hidden1, self.hidden2, self.output = nn.Linear(16, 6), nn.Linear(6, 6), nn.Linear(6, CLASSES)
        self.act = nn.ReLU(inplace=True)
        self.seen: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        first = self.act(self.conv1(x))
        second = self.act(self.conv2(max_pool2d(first, 2)))
        third = self.hidden1(max_pool2d(second, 2).flatten(1)).relu()
        fourth = relu(self.hidden2(third))
        self.seen = {"conv1": first, "conv2": second, "hidden1": third, "hidden2": fourth}
        return self.output(fourth)


SIDES = {"mlp": 4, "cnn": 14, "normed": 4}
NORMS = {"hidden1": "norm1", "hidden2": "norm2"}


def twins(kind: str, seed: int = 0) -> tuple[nn.Module, Model]:
    """A module with the first numbers of the laboratory's network, and this network."""
    side = SIDES[kind]
    if kind == "cnn":
        network, module = CNN(channels=4, kernel=3, width=6), TorchCNN()
    else:
        norm = "layer" if kind == "normed" else "none"
        network, module = MLP(width=7, norm=norm), TorchMLP(side * side, norm=kind == "normed")
    model = classifier(network, [ReLU()], (1, side, side), CLASSES)
    with torch.no_grad():
        for name, value in model.start([seed], CPU).items():
            tensor = tensor_of(module, name)
            tensor.copy_(unstacked(value, tensor))
    return module, model


def tensor_of(module: nn.Module, name: str) -> Any:
    """The module's parameter with that name in the laboratory."""
    layer, _, part = name.rpartition(".")
    if part in ("scale", "shift"):
        layer, part = NORMS[layer], {"scale": "weight", "shift": "bias"}[part]
    return getattr(module.get_submodule(layer), part)


def stacked(value: Tensor, like: Tensor) -> Tensor:
    """A module's tensor in the laboratory's layout, with its padding."""
    own = value.detach().flatten(1).t() if value.dim() > 1 else value.detach().view(1, -1)
    return pad(own, (0, like.shape[-1] - own.shape[-1])).unsqueeze(0).contiguous()


def unstacked(value: Tensor, like: Tensor) -> Tensor:
    """The laboratory's tensor in the module's layout."""
    return value[0, :, : len(like)].t().reshape(like.shape)


def parameters_of(module: nn.Module, model: Model) -> dict[str, Tensor]:
    """The module's parameters in the laboratory's layout."""
    return {name: stacked(tensor_of(module, name), like) for name, like in model.start([0], CPU).items()}


def gradients_of(module: nn.Module, model: Model) -> dict[str, Tensor]:
    """The module's gradients in the laboratory's layout."""
    return {name: stacked(tensor_of(module, name).grad, like) for name, like in model.start([0], CPU).items()}


def moments_of(module: nn.Module, model: Model, optimizer: torch.optim.Optimizer) -> dict[str, dict[str, Tensor]]:
    """The optimizer's moments in the laboratory's layout."""
    found: dict[str, dict[str, Tensor]] = {}
    for name, like in model.start([0], CPU).items():
        tensor = tensor_of(module, name)
        for kind, value in optimizer.state[tensor].items():
            if value is not None and value.shape == tensor.shape:
                found.setdefault(kind, {})[name] = stacked(value, like)
    return found


def hidden_of(module: Any) -> dict[str, Tensor]:
    """The module's last activations in the laboratory's layout."""
    return {name: value.detach().unsqueeze(0) for name, value in module.seen.items()}


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> None:
    """Fails if two states differ in a bit."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


class Net(nn.Module):
    """Layers by name, and a forward pass as a function of them."""

    def __init__(self, forward, **layers: nn.Module) -> None:
        super().__init__()
        self.call = forward
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, *x: Tensor) -> Tensor:
        return self.call(self, *x)
