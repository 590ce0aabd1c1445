"""Any torch module looked at: beside our own network of the same numbers."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from plasticity_lab.diagnostics.curvature import Curvature
from plasticity_lab.diagnostics.dead_units import DeadUnits
from plasticity_lab.errors import ConfigError, InputError
from plasticity_lab.outside.chosen import OF_ONE_MOMENT
from plasticity_lab.outside.measurement import measure
from tests.diagnostics.test_gradient_set import NETWORKS, shown
from tests.helpers.shown import seen

NAMES = {"mlp": ("hidden1", "hidden2", "output"), "cnn": ("conv1", "conv2", "hidden1", "hidden2", "output")}


def as_module(view, network):
    """The same network as a torch module of the run's own numbers."""
    image, steps = NETWORKS[network][1], []
    for layer in view.model.design.layers:
        weight, bias = (view.parameters[f"{layer.name}.{part}"][0, ..., : layer.outputs] for part in ("weight", "bias"))
        if layer.name.startswith("conv"):
            own = nn.Conv2d(layer.image[0], layer.outputs, layer.kernel, dtype=torch.float64)
            own.weight.data = weight.t().reshape(own.weight.shape).clone()
        else:
            own = nn.Linear(*weight.shape, dtype=torch.float64)
            own.weight.data = weight.t().clone()
        own.bias.data = bias[0].clone()
        if layer.name == "hidden1" and network == "cnn":
            steps.append(nn.Flatten())
        steps += [own, nn.Tanh()] if layer.name != "output" else [own]
        steps += [nn.MaxPool2d(2)] if layer.name.startswith("conv") else []
    return nn.Sequential(nn.Unflatten(1, image), *(steps if network == "cnn" else [nn.Flatten(), *steps]))


@pytest.mark.parametrize("network", NAMES)
def test_its_numbers_are_those_of_our_own_network(network):
    view = shown(network, "tanh", runs=1, examples=16)
    module = as_module(view, network).train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    data = DataLoader(TensorDataset(view.probe["x"][0], view.probe["labels"][0]), batch_size=6)
    found = measure(module, data)
    for of in OF_ONE_MOMENT.values():
        if of().applies_to(view.model):
            for name, value in seen(of(), view).items():
                if not any(name.endswith(place) for place in NAMES[network]) and name != "lambda_max_iterations":
                    assert found[name] == pytest.approx(value, rel=1e-2 if "lambda" in name else 1e-6, abs=1e-3), name
    assert module.training
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_what_does_not_fit_is_said():
    data = [(torch.randn(8, 4), torch.zeros(8, dtype=torch.int64))]
    with pytest.raises(InputError, match="no activation"):
        measure(nn.Linear(4, 3), data)
    with pytest.raises(InputError, match="pairs"):
        measure(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), [torch.randn(8, 4)])
    with pytest.raises(ConfigError, match=r"diagnostics\.block"):
        measure(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 3)), data, [Curvature(block="fc2")])


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.PReLU(5), nn.GELU(), nn.ELU(2.0)])
def test_of_modules_with_other_activations(activation):
    module = nn.Sequential(nn.Linear(4, 5, bias=False), activation, nn.Linear(5, 3))
    found = measure(module, [(torch.randn(8, 4), torch.randint(0, 3, (8,)))])
    assert found["slope_min"] == 0.25 if isinstance(activation, nn.PReLU) else "slope_min" not in found
    assert {"srank", "lambda_max", "gradient_snr", "saturated_1"} <= found.keys()


@pytest.mark.parametrize(
    ("module", "lowest"), [(nn.SELU(), -1.0507009873554804 * 1.6732632423543772), (nn.CELU(2.0), -2.0)]
)
def test_dead_units_of_an_exponential_tail_are_those_near_its_lower_bound(module, lowest):
    """As in a run: one unit is within 0.02 of the bound on every example, one just above, one is positive."""
    tail = -2.0 if isinstance(module, nn.CELU) else -1.0  # CELU: α (exp(x / α) − 1)
    near, above = (float(torch.log(torch.tensor(share))) * -tail for share in (0.01 / -lowest, 0.03 / -lowest))
    first = nn.Linear(1, 3)
    first.weight.data, first.bias.data = torch.zeros(3, 1), torch.tensor([near, above, 1.0])
    data = [(torch.ones(4, 1), torch.zeros(4, dtype=torch.int64))]
    found = measure(nn.Sequential(first, module, nn.Linear(3, 2)), data, [DeadUnits()])
    assert found["dead_units"] == pytest.approx(1 / 3)


def test_a_module_with_values_that_are_not_finite_has_no_number():
    data = [(torch.ones(4, 2), torch.zeros(4, dtype=torch.int64))]
    module = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
    module[0].bias.data[1] = float("nan")
    with pytest.raises(InputError, match="8 of 8 values of the module's outputs"):
        measure(module, data, [DeadUnits()])
    module[0].bias.data[1] = float("inf")
    hidden = nn.Sequential(module[0], nn.ReLU(), nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 2))
    hidden[2].weight.data.fill_(-1.0)  # −∞ becomes 0 behind the second
    with pytest.raises(InputError, match="4 of 12 values of the activations of 1"):
        measure(hidden, data, [DeadUnits()])


def test_a_diagnostic_without_a_number_is_left_out_with_its_reason_unless_it_is_asked_for():
    steps = nn.Linear(4, 5), nn.ReLU(), nn.utils.parametrizations.weight_norm(nn.Linear(5, 3))
    module, data = nn.Sequential(*steps), [(torch.randn(8, 4), torch.arange(8) % 3)]
    found = measure(module, data)
    assert found.left_out.keys() == {"gradient_rank", "curvature"}
    assert "original0" in found.left_out["curvature"]
    assert found["gradient_snr"] > 0
    with pytest.raises(KeyError, match=r"lambda_max.*original0"):
        found["lambda_max"]
    with pytest.raises(InputError, match="original0"):
        measure(module, data, ["dead_units", "curvature"])
    with pytest.raises(InputError, match="dead_units, dormant_units"):
        measure(module, data, ["dead_unit"])


def test_only_trained_parameters_count_if_some_are():
    module, data = (
        nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)),
        [(torch.randn(8, 4), torch.arange(8) % 3)],
    )
    whole = measure(module, data, ["gradient_noise", Curvature(block="all", tolerance=1e-6)])
    module[0].requires_grad_(False)
    part = measure(module, data, ["gradient_noise", Curvature(block="all", tolerance=1e-6)])
    alone = measure(module, data, [Curvature(block="2.weight", tolerance=1e-6)])
    assert part["gradient_snr"] != whole["gradient_snr"]
    assert part["lambda_max"] <= whole["lambda_max"] * 1.0001
    assert alone["lambda_max"] <= part["lambda_max"] * 1.0001
    module.requires_grad_(False)
    untrained = measure(module, data, [Curvature(block="all", tolerance=1e-6)])
    assert untrained["lambda_max"] == pytest.approx(whole["lambda_max"], rel=1e-4)
