"""Modules that work in place, share, or compute activations by functions: right, or refused."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from plasticity_lab.errors import InputError
from plasticity_lab.outside.measurement import measure

IN_PLACE = {
    nn.ReLU: {}, nn.LeakyReLU: {"negative_slope": 0.1}, nn.ELU: {}, nn.SELU: {}, nn.CELU: {}, nn.ReLU6: {},
    nn.Hardtanh: {}, nn.Hardswish: {}, nn.SiLU: {}, nn.Mish: {}, nn.Hardsigmoid: {}, nn.RReLU: {},
}  # fmt: skip
CASES = [pytest.param(kind, own, id=kind.__name__) for kind, own in IN_PLACE.items()]


def data(*shape: int, examples: int = 30) -> DataLoader:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(examples, *shape, generator=draw, dtype=torch.float64)
    return DataLoader(TensorDataset(x, torch.randint(0, 3, (examples,), generator=draw)), batch_size=8)


def seeded(make, *given):
    """The module that is made so, with numbers that are the same for all of the same parameters."""
    module, draw = make(*given).double(), torch.Generator().manual_seed(0)
    for own in module.parameters():
        own.data = torch.randn(own.shape, generator=draw, dtype=own.dtype) / max(1, own[0].numel()) ** 0.5
    return module


def same(ours: dict, theirs: dict) -> None:
    """The numbers of the whole network: places may be called otherwise."""
    whole = {name for name in theirs if name in ours}
    assert {"dormant_units", "srank", "lambda_max", "gradient_snr", "grama_inactive"} <= whole
    for name in whole - {"lambda_max_iterations"}:
        assert ours[name] == pytest.approx(
            theirs[name], rel=1e-3 if "lambda" in name else 1e-9, abs=1e-3 * ("resid" in name), nan_ok=True
        ), name


class Block(nn.Module):
    """A residual block: of two layers with a normalisation, or one that begins with its activation."""

    def __init__(self, act, first: bool = False) -> None:
        super().__init__()
        self.stem, self.conv1, self.conv2 = (
            nn.Conv2d(2, 4, 3),
            nn.Conv2d(4, 4, 3, padding=1),
            nn.Conv2d(4, 4, 3, padding=1),
        )
        self.norm, self.act1, self.act2, self.act3 = nn.BatchNorm2d(4), act(), act(), act()
        self.out, self.first = nn.Linear(4, 3), first

    def forward(self, x):
        h = self.act1(self.stem(x))
        if self.first:  # what the block adds to is what its activation has left
            z = self.conv1(h)
            h = self.conv2(self.act2(z))
            h = self.act3(h + z)
        else:
            then = self.norm(self.conv2(self.act2(self.conv1(h))))
            then += h
            h = self.act3(then)
        return self.out(h.mean((2, 3)))


class ByHand(Block):
    """What `Block(first=True)` computes with activations in place."""

    def forward(self, x):
        h = self.act2(self.conv1(self.act1(self.stem(x))))
        h = self.act3(self.conv2(h) + h)
        return self.out(h.mean((2, 3)))


def mlp(act):
    return nn.Sequential(nn.Linear(6, 9), act(), nn.Linear(9, 8), act(), nn.Linear(8, 3))


@pytest.mark.parametrize(("kind", "own"), CASES)
def test_an_activation_in_place_is_measured_as_one_that_is_not(kind, own):
    ours = measure(seeded(mlp, lambda: kind(**own, inplace=True)), data(6))
    same(ours, measure(seeded(mlp, lambda: kind(**own)), data(6)))


@pytest.mark.parametrize("kind", [nn.ReLU, nn.ELU, nn.SiLU])
@pytest.mark.parametrize("first", [False, True])
def test_a_residual_block_in_place_is_what_one_written_out_is(kind, first):
    ours = measure(seeded(Block, lambda: kind(inplace=True), first), data(2, 5, 5))
    same(ours, measure(seeded(ByHand if first else Block, kind), data(2, 5, 5)))


class Shared(nn.Module):
    def __init__(self, act) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3, self.act = nn.Linear(6, 9), nn.Linear(9, 8), nn.Linear(8, 3), act

    def forward(self, x):
        return self.fc3(self.act(self.fc2(self.act(input=self.fc1(x)))))


@pytest.mark.parametrize("act", [nn.LeakyReLU(0.1), nn.LeakyReLU(0.1, inplace=True), nn.PReLU()], ids=str)
def test_one_module_at_several_places_is_measured_as_several_modules(act):
    shared = seeded(Shared, act)
    once, again = (copy.deepcopy(act) if isinstance(act, nn.PReLU) else nn.LeakyReLU(0.1) for _ in range(2))
    ours = measure(shared, data(6))
    theirs = measure(nn.Sequential(shared.fc1, once, shared.fc2, again, shared.fc3), data(6))
    same(ours, theirs)
    for ours_at, theirs_at in (("act", "1"), ("act_2", "3")):
        assert ours[f"dormant_units_{ours_at}"] == theirs[f"dormant_units_{theirs_at}"]


class Written(nn.Module):
    """A forward pass in which a function takes the place of the second activation."""

    def __init__(self, function) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3, self.act = nn.Linear(6, 9), nn.Linear(9, 8), nn.Linear(8, 3), nn.ReLU()
        self.function = function

    def forward(self, x):
        return self.fc3(self.function(self.fc2(self.act(self.fc1(x)))))


@pytest.mark.parametrize(
    ("function", "module"),
    [
        (functional.relu, nn.ReLU()), (functional.relu_, nn.ReLU()), (torch.relu, nn.ReLU()),
        (torch.Tensor.relu_, nn.ReLU()), (lambda x: x.clamp(min=0), nn.ReLU()), (lambda x: x.clamp_(0), nn.ReLU()),
        (lambda x: functional.relu(x, True), nn.ReLU()), (torch.tanh, nn.Tanh()), (torch.Tensor.sigmoid_, nn.Sigmoid()),
        (lambda x: functional.leaky_relu(x, 0.2, True), nn.LeakyReLU(0.2)), (functional.elu_, nn.ELU()),
        (lambda x: functional.elu(x, 2.0, inplace=True), nn.ELU(2.0)), (functional.softsign, nn.Softsign()),
        (functional.silu, nn.SiLU()), (lambda x: functional.hardtanh(x, -2, 2), nn.Hardtanh(-2, 2)),
        (lambda x: torch.threshold(x, 0.0, 0.0), nn.ReLU()), (lambda x: functional.rrelu(x), nn.LeakyReLU(11 / 48)),
        (lambda x: functional.softplus(x, 2.0), nn.Softplus(2.0)),
    ],
)  # fmt: skip
def test_an_activation_that_is_a_function_is_measured_as_the_module_is(function, module):
    ours = measure(seeded(Written, function), data(6))
    theirs = measure(seeded(Written, module), data(6))
    same(ours, theirs)
    for name in theirs:
        assert ours.get(name.replace("_function", f"_{ours.places[1]}")) == pytest.approx(
            theirs[name], rel=1e-3, abs=1e-3, nan_ok=True
        ), name


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.maximum(x, x * 0), lambda x: torch.where(x > 0, x, 0.1 * x), lambda x: x * (x > 0),
        lambda x: x * torch.sigmoid(x), lambda x: x / (1 + x.abs()), lambda x: torch.relu(x) ** 2, lambda x: x.sin(),
        lambda x: 0.5 * x * (1 + torch.tanh(x + 0.04 * x**3)), lambda x: x * (x > 0).to(x.dtype),
        lambda x: x.masked_fill(x < 0, 0.0), lambda x: torch.logaddexp(x, x * 0), lambda x: 1 / (1 + (-x).exp()),
        torch.special.erf, lambda x: torch.relu(x).square_(),
    ],
)  # fmt: skip
def test_an_activation_that_is_written_out_is_refused(function):
    with pytest.raises(InputError, match=r"F\.relu"):
        measure(seeded(Written, function), data(6))


class ByHandSwish(nn.Module):
    def forward(self, input):
        return input * torch.sigmoid(input)


class OfUnits(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x.flip(-1))


def test_a_submodule_that_writes_an_activation_out_is_one_if_it_is_a_function_of_single_values():
    same(measure(seeded(mlp, ByHandSwish), data(6)), measure(seeded(mlp, nn.SiLU), data(6)))
    found = measure(seeded(Shared, ByHandSwish()), data(6))
    assert found.places == ["act", "act_2"]
    module = seeded(mlp, OfUnits)
    assert measure(module, data(6)).places == ["1", "3"], "a gate"
    assert not any("forward" in vars(own) for own in module.modules())


def test_a_function_behind_the_last_layer_makes_outputs_and_is_no_activation():
    class Squashed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(nn.ReLU)

        def forward(self, x):
            return torch.tanh(self.net(x))

    assert measure(seeded(Squashed), data(6))["lambda_max"] != 0


class Changing(nn.Module):
    """Changes in place what it is given, what a layer made, and what an activation gave."""

    def __init__(self, place: bool) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(6, 9), nn.Linear(9, 8), nn.Linear(8, 3)
        self.act1, self.act2, self.place = nn.ReLU(), nn.ReLU(), place

    def forward(self, x):
        if self.place:
            x -= 0.5
            z = self.fc1(x)
            h = self.act1(z)
            z.add_(100)
            g = self.fc2(h * 1)
            g *= 2
            out = self.act2(g)
            out.add_(1)
            return self.fc3(out)
        return self.fc3(self.act2(self.fc2(self.act1(self.fc1(x - 0.5)) * 1) * 2) + 1)


class ThroughAView(nn.Module):
    """Activations that write into a view of a layer's output."""

    def __init__(self, act) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(6, 9), nn.Linear(9, 8), nn.Linear(8, 3)

    def forward(self, x):
        z = self.fc1(x)
        functional.elu_(z.view(-1, 9))
        g = self.fc2(z)
        functional.elu(g.view(len(x), 2, 4), inplace=True)
        return self.fc3(g)


def test_an_activation_that_writes_into_a_view_is_measured_at_its_place():
    same(measure(seeded(ThroughAView, None), data(6)), measure(seeded(mlp, nn.ELU), data(6)))


def test_what_a_forward_pass_changes_in_place_is_measured_as_it_was_before():
    batches = data(6)
    x = batches.dataset.tensors[0].clone()
    same(measure(seeded(Changing, True), batches), measure(seeded(Changing, False), batches))
    assert torch.equal(batches.dataset.tensors[0], x)
