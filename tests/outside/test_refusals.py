"""Modules and loaders that would give a wrong number: right, or refused in a sentence, and left as they were."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from plasticity_lab.diagnostics.curvature import Curvature
from plasticity_lab.diagnostics.dormant_units import DormantUnits
from plasticity_lab.diagnostics.gradient_noise import GradientNoise
from plasticity_lab.diagnostics.zero_gradient_units import ZeroGradientUnits
from plasticity_lab.errors import InputError
from plasticity_lab.outside.measurement import measure
from tests.outside.test_in_place import Block, data, mlp, same, seeded


class Through(nn.Module):
    """An MLP with something between its first layer and its activation."""

    def __init__(self, between) -> None:
        super().__init__()
        self.fc1, self.act, self.fc2, self.between = nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3), between

    def forward(self, x):
        return self.fc2(self.act(self.between(self.fc1(x))))


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Doubling(nn.Module):
    def forward(self, x):
        return 2 * x


def with_twice(twice, own=nn.Linear):
    return nn.Sequential(own(6, 8), *twice, nn.ReLU(), nn.Linear(8, 3))


def hooked():
    module = with_twice([])
    module[0].register_forward_hook(lambda own, given, made: 2 * made)
    module[1].register_forward_pre_hook(lambda own, given: (given[0] - 1,))
    return module


class Minus(nn.Module):
    def forward(self, x):
        return x - 1


def test_hooks_and_layers_with_a_forward_of_their_own_count_as_what_they_compute():
    chosen = [DormantUnits(), Curvature(block="all"), ZeroGradientUnits()]
    plain = measure(seeded(with_twice, [Doubling()]), data(6), chosen)
    own = measure(seeded(with_twice, [], Doubled), data(6), chosen)
    assert own["lambda_max"] == pytest.approx(plain["lambda_max"], rel=1e-3)
    assert own["dormant_units"] == plain["dormant_units"]
    same(measure(seeded(hooked), data(6)), measure(seeded(with_twice, [Doubling(), Minus()]), data(6)))


def test_batch_normalisation_and_dropout_are_those_of_evaluation_and_the_module_stays_as_it_is():
    module = seeded(with_twice, [nn.BatchNorm1d(8), nn.Dropout(0.5)])
    module[1].running_mean.fill_(0.3)
    module.train()
    module[1].eval()  # as one freezes it
    module.register_buffer("counted", torch.zeros(()))
    module.register_forward_hook(lambda own, given, made: own.counted.add_(1) and None)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    found = measure(module, data(6))
    assert [own.training for own in module.modules()] == [True, True, False, True, True, True]
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(value.grad is None for value in module.parameters())
    assert not any("forward" in vars(own) for own in module.modules())
    same(found, measure(module.eval(), data(6)))


MERGED = nn.Flatten(0, 1), nn.Unflatten(0, (-1, 1)), nn.ReLU(), nn.Unflatten(0, (-1, 8)), nn.Flatten()
"""Examples and units are one axis where the activation is called."""


STEPS = nn.Unflatten(1, (2, 3)), nn.LSTM(3, 3, batch_first=True)


def layers(*between):
    return nn.Sequential(nn.Linear(6, 8), *between, nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Through(functional.dropout), "same inputs"),
        (lambda: Through(nn.BatchNorm1d(8, track_running_stats=False)), "track_running_stats"),
        (lambda: Through(lambda x: x - x.mean(0)), "other examples"),
        (lambda: nn.Sequential(*STEPS), r"tuple.*outputs\[0\]"),
        (lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.LSTM(3, 3), Last()), "other examples"),
        (lambda: Through(lambda x: x if x[0, 0] == x.max() else 2 * x), "other examples"),
        (lambda: nn.Sequential(*STEPS, Last(), nn.Linear(3, 3)), "LSTM"),
        (lambda: layers(Invisible()), "autograd.Function"),
        (lambda: Through(lambda x: x[torch.arange(len(x)).flip(0)]), "other examples"),
        (lambda: Through(lambda x: x.gather(1, torch.zeros(len(x), 8).long())), "which of its dimensions"),
        (lambda: Through(lambda x: x.clamp(torch.zeros(8).double())), "besides its values"),
        (lambda: layers(nn.ReLU(), scripted(nn.Linear(8, 8))), "TorchScript"),
        (nn.ReLU, "no parameters"),
        (lambda: nn.Linear(5, 3), "loader's inputs"),
    ],
)  # fmt: skip
def test_what_would_be_measured_wrongly_is_refused(make, says):
    with pytest.raises(InputError, match=says):
        measure(seeded(make), data(6))


def test_units_and_examples_in_one_dimension_are_known_again_behind_it():
    same(measure(seeded(lambda: layers(*MERGED)), data(6)), measure(seeded(lambda: layers(nn.ReLU())), data(6)))


def test_different_activations_count_by_their_own_settings():
    def network(*slopes):
        steps = [nn.Linear(6, 8), nn.LeakyReLU(slopes[0]), nn.Linear(8, 8), nn.LeakyReLU(slopes[1]), nn.Linear(8, 3)]
        return nn.Sequential(*steps)

    found = measure(seeded(network, 0.1, 0.2), data(6), ["negative_slope", "dead_units"])
    assert found["slope_probe_1"] == pytest.approx(0.1)
    assert found["slope_probe_3"] == pytest.approx(0.2)
    assert found["slope_uniform"] == pytest.approx(0.15)
    mixed = seeded(lambda: nn.Sequential(*network(0.1, 0.2)[:3], nn.GLU(), nn.Linear(4, 3)))
    found = measure(mixed, data(6), ["negative_slope", "dormant_units"])
    assert found["slope_probe"] == pytest.approx(0.1), "of the places that have a slope"
    assert found.places == ["1", "3"]


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_parameters_of_low_precision_are_refused(kind):
    with pytest.raises(InputError, match=r"\.float\(\)"):
        measure(seeded(mlp, nn.ReLU).to(kind), data(6))
    mixed = seeded(mlp, nn.ReLU)
    mixed[0].to(kind)
    with pytest.raises(InputError, match="float64"):
        measure(mixed, data(6))


@pytest.mark.parametrize(
    "context", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu"), torch.enable_grad]
)
def test_what_the_caller_has_set_changes_no_number(context):
    module, batches = seeded(mlp, nn.ReLU).float(), [(x.float(), labels) for x, labels in data(6)]
    plain = measure(module, batches)
    with context():
        assert measure(module, batches) == plain


def lazy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nn.LazyLinear(8)


def test_parameters_without_values_are_refused():
    with pytest.raises(InputError, match=r"0\.weight.*initialised"):
        measure(nn.Sequential(lazy(), nn.ReLU(), nn.Linear(8, 3)), data(6))
    with pytest.raises(InputError, match=r"0\.weight.*meta"):
        measure(mlp(nn.ReLU).to("meta"), data(6))


def scripted(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(module)


class Last(nn.Module):
    def forward(self, outputs):
        return outputs[0][:, -1]


class Invisible(nn.Module):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x.clamp(min=0)

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient

    def forward(self, x):
        return self.Twice.apply(x)


class ByWeights(Through):
    def forward(self, x):
        return functional.linear(self.act(self.fc1(x)), self.fc2.weight, self.fc2.bias)


class Idle(Through):
    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


def test_a_layer_whose_weights_are_used_without_a_call_is_a_layer_and_an_idle_one_is_not():
    same(*(measure(seeded(kind, nn.Identity()), data(6)) for kind in (ByWeights, Through)))
    idle = seeded(Idle, nn.Linear(6, 3))
    same(measure(idle, data(6)), measure(nn.Sequential(idle.fc1, idle.act, idle.fc2), data(6)))


def test_bytes_reach_the_module_as_bytes():
    class OfBytes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(nn.ReLU)

        def forward(self, x):
            return self.net(x.double() / 255 if x.dtype == torch.uint8 else x)

    x, labels = torch.randint(0, 256, (30, 6)).byte(), torch.arange(30) % 3
    module = seeded(OfBytes)
    same(measure(module, [(x, labels)]), measure(module, [(x.double() / 255, labels)]))


def test_a_grouped_convolution_has_the_gradients_of_a_whole_one_and_a_computed_weight_changes_no_units():
    def network(group):
        conv = nn.Conv2d(4, 4, 3, padding=1, groups=4 if group else 1)
        return nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), conv, nn.ReLU(), nn.Flatten(), nn.Linear(36, 3))

    grouped, whole = seeded(network, True), seeded(network, False)
    whole.load_state_dict(
        {name: value for name, value in grouped.state_dict().items() if name != "2.weight"}, strict=False
    )
    with torch.no_grad():
        whole[2].weight.zero_()
        for channel in range(4):
            whole[2].weight[channel, channel] = grouped[2].weight[channel, 0]
        for each in (grouped, whole):
            each[2].bias[0] = -9  # a channel that never answers, of the second layer alone
    chosen = [ZeroGradientUnits(), DormantUnits(), Curvature(block="5")]
    ours, theirs = measure(grouped, data(2, 5, 5), chosen), measure(whole, data(2, 5, 5), chosen)
    assert ours["zero_gradient_units_3"] == theirs["zero_gradient_units_3"] == 0.25
    assert ours == pytest.approx(theirs)
    plain = measure(whole, data(2, 5, 5), [DormantUnits()])
    parametrizations.weight_norm(whole[5])  # no unit is made by it
    assert measure(whole, data(2, 5, 5), [DormantUnits()]) == pytest.approx(plain)
    parametrizations.weight_norm(whole[2])
    assert measure(whole, data(2, 5, 5), [DormantUnits()]) == pytest.approx(plain)


@pytest.mark.parametrize(
    ("batches", "says"),
    [
        ([(torch.randn(8, 6).double(), torch.zeros(5).long())], "5 targets"),
        ([(torch.randn(6).double(), torch.tensor(1))], "pairs"),
        ([(torch.randn(8, 6).double().numpy(), torch.zeros(8).long())], "pairs"),
        ([{"x": torch.randn(8, 6)}], "targets="),
        ([(torch.randn(1, 6).double(), torch.zeros(1).long())], "1 examples"),
        ([], "0 examples"),
    ],
)
def test_a_loader_that_does_not_fit_is_refused(batches, says):
    with pytest.raises(InputError, match=says):
        measure(seeded(mlp, nn.ReLU), batches)


def test_batches_of_any_size_count_by_their_examples():
    x, labels = data(6, examples=23).dataset.tensors
    module = seeded(mlp, nn.Tanh)
    together = measure(module, [(x, labels)])
    apart = [(x[at : at + size], labels[at : at + size]) for at, size in ((0, 7), (7, 1), (8, 15))]
    same(measure(module, apart), together)
    same(measure(module, apart, most=10), measure(module, [(x[:10], labels[:10])]))


def test_gradients_of_a_residual_block_are_those_of_its_examples():
    module = seeded(Block, lambda: nn.ReLU(inplace=True)).eval()
    x, labels = data(2, 5, 5).dataset.tensors
    weights = [value for name, value in module.named_parameters() if "norm" not in name]
    losses = [functional.cross_entropy(module(own[None]), label[None]) for own, label in zip(x, labels, strict=True)]
    each = torch.stack([torch.cat([own.flatten() for own in torch.autograd.grad(loss, weights)]) for loss in losses])
    mean = each.mean(0)
    noise = (each - mean).square().sum() / (len(x) - 1)
    found = measure(module, [(x, labels)], [GradientNoise()])
    assert found["gradient_snr"] == pytest.approx((mean.square().sum() / noise).item())


def test_two_numbers_of_one_name_are_refused():
    with pytest.raises(InputError, match="measured twice"):
        measure(seeded(mlp, nn.ReLU), data(6), [Curvature(block="0"), Curvature(block="2")])
