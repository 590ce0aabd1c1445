"""The laboratory's activations as modules: the same values and slopes."""

import copy

import pytest
import torch
from torch import nn

from plasticity_lab.activations.activation import Site
from plasticity_lab.component import load
from plasticity_lab.errors import ConfigError
from plasticity_lab.outside import Plastic, activation, measure
from plasticity_lab.outside.activations import CLASSES
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import choice, choices

SETTINGS = {"prelu": {"scope": "neuron"}, "rational": {"version": "D"}, "leaky_relu": {"negative_slope": 0.3}}
SHAPES = {"units": ((5, 6), 1), "images": ((5, 6, 3, 2), 1), "tokens": ((5, 3, 6), -1)}


def test_every_activation_of_the_laboratory_has_a_module():
    assert CLASSES.keys() == set(choices("activation"))
    for name, place in CLASSES.items():
        assert load(f"plasticity_lab.activations.{place}") is load(choice("activation", name)[0])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("name", CLASSES)
def test_values_and_slopes_have_the_laboratorys_bits(name, kind, training):
    shape, axis = SHAPES[kind]
    module = activation(name, units=6, axis=axis, **SETTINGS.get(name, {})).train(training)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).requires_grad_()
    torch.random.manual_seed(7)
    made = module(x)
    assert made.shape[axis] == 6 * module.own.expansion
    stack = x.detach().movedim(axis, 1).unsqueeze(0).requires_grad_()
    torch.random.manual_seed(7)
    uniform = torch.rand(stack.shape[1:]).unsqueeze(0) if training and module.own.randomised else None
    learned = {key: torch.tensor([each.start]).requires_grad_() for key, each in module.own.learnable(6).items()}
    wanted = module.own(stack, Site(on_run_axis([module.own]), learned, uniform))
    assert torch.equal(made.movedim(axis, 1), wanted[0])
    slope = torch.randn(made.shape, generator=torch.Generator().manual_seed(1))
    made.backward(slope)
    wanted.backward(slope.movedim(axis, 1).unsqueeze(0))
    assert torch.equal(x.grad.movedim(axis, 1), stack.grad[0])
    assert learned.keys() == dict(module.named_parameters()).keys()
    for key, value in learned.items():
        assert torch.equal(module.get_parameter(key).grad, value.grad[0])
        assert value.grad.any() or (name, key) == ("rational", "denominator")


def test_random_activations_follow_the_training_mode_and_torchs_generator():
    module, x = activation("rrelu"), torch.randn(100)
    assert not torch.equal(module(x), module(x))
    torch.random.manual_seed(1)
    first = module(x)
    torch.random.manual_seed(1)
    assert torch.equal(first, module(x))
    module.eval()
    assert torch.equal(module(x), torch.where(x > 0, x, x * (0.125 + 0.333) / 2))


def test_a_module_can_be_copied_saved_and_converted():
    module = activation("rational")
    twin, x = copy.deepcopy(module), torch.randn(4, 3)
    with torch.no_grad():
        module.numerator.add_(1)
    assert not torch.equal(twin(x), module(x))
    twin.load_state_dict(module.state_dict())
    assert torch.equal(twin(x), module(x))
    assert module(x.bfloat16()).dtype == torch.bfloat16
    assert "version=A" in repr(module)


def test_unknown_names_and_settings_and_missing_units_are_refused():
    with pytest.raises(ConfigError, match=r"'relo'.*relu"):
        activation("relo")
    with pytest.raises(ConfigError, match=r"'slope'.*negative_slope"):
        activation("leaky_relu", slope=0.1)
    with pytest.raises(ConfigError, match="units=their number"):
        activation("prelu", scope="neuron")


@pytest.mark.parametrize("name", CLASSES)
def test_interventions_know_the_units_before_each_activation(name):
    """Units that pass on two values are cut off at both; of a gate both units."""
    act = activation(name, units=6, **SETTINGS.get(name, {}))
    passed = int(6 * act.expansion)
    module = nn.Sequential(nn.Linear(3, 6), act, nn.Linear(passed, 2))
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-30)
    keep = Plastic(module, optimizer, "redo", strength=1e9, every=1, average=1)
    module(torch.randn(8, 3)).sum().backward()
    optimizer.step()
    keep.step()
    assert keep.measured() == {"resets": 6}
    assert not module[2].weight.any()
    assert keep._now.model.learned_by_activation == {f"1.{key}" for key, _ in act.named_parameters()}


def measured(act: nn.Module, names: list[str]) -> dict[str, float]:
    torch.random.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), act, nn.Linear(8, 8), act, nn.Linear(8, 3))
    return dict(measure(module, [(torch.randn(64, 6), torch.arange(64) % 3)], names))


def test_measurements_take_them_like_torchs():
    """A unit of a learned activation is dormant by its size, as for any other function."""
    columns = ["dormant_units", "dead_units", "feature_rank", "grama", "curvature", "saturated"]
    wanted = measured(nn.LeakyReLU(0.3), columns)
    assert measured(activation("leaky_relu", negative_slope=0.3), columns) == pytest.approx(wanted)
    assert measured(activation("prelu", alpha_init=0.3), columns[:1]) == pytest.approx(
        measured(nn.LeakyReLU(0.3), columns[:1])
    )
    assert measured(activation("rational"), ["feature_rank"])["stable_rank"] > 1
