"""What is measured by gradients, against explicit gradients of single examples and numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.agents.supervised.step import cross_entropy_of
from plasticity_lab.agents.update import example_losses
from plasticity_lab.diagnostics.churn import Churn
from plasticity_lab.diagnostics.gradient_noise import GradientNoise, signal_to_noise
from plasticity_lab.diagnostics.gradient_rank import GradientRank
from plasticity_lab.diagnostics.grama import GraMa
from plasticity_lab.diagnostics.norms import Norms
from plasticity_lab.diagnostics.sensitivities import grams, mean_gradients, sensitivities, whole_gram
from plasticity_lab.diagnostics.view import View
from plasticity_lab.diagnostics.zero_gradient_units import ZeroGradientUnits
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.small_nature import SmallNature
from plasticity_lab.outside.measurement import measure
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.shown import built, seen, view_given

NETWORKS = {
    "mlp": (MLP(width=8), (1, 2, 4)),
    "normalised": (MLP(width=8, norm="layer"), (1, 2, 4)),
    "cnn": (CNN(channels=4, kernel=3, width=8), (1, 12, 12)),
    "same": (CNN(channels=3, kernel=3, width=8, padding="same", norm="layer"), (2, 8, 8)),
    "strided": (SmallNature(), (4, 10, 10)),
}
ROOM = {"dtype": torch.float64}


def shown(network="mlp", activation="tanh", runs=2, examples=8, **settings):
    """A classifier of three classes with weights and probe in float64."""
    made, image = NETWORKS[network]
    activations = [built(activation, **settings)] * runs
    model, draw = classifier(made, activations, image, 3), torch.Generator().manual_seed(0)
    parameters = {name: value.double() for name, value in model.start(range(runs), torch.device("cpu")).items()}
    probe = {
        "x": torch.randn(runs, examples, int(np.prod(image)), generator=draw, **ROOM),
        "labels": torch.randint(0, 3, (runs, examples), generator=draw),
        "weights": torch.ones(examples, **ROOM),
    }
    settings = {"activation": on_run_axis(activations, dtype=torch.float64)}
    return View(model, parameters, settings, range(runs), example_losses(cross_entropy_of(model), settings), probe)


def each_alone(view, run):
    """The gradient of each example of a run, by parameter, (B, ...): what is too large to be laid out for a pack."""
    found = []
    for example in range(view.probe["x"].shape[1]):
        own = torch.func.grad(lambda parameters, at=example: view.losses(parameters)[run, at])(view.parameters)
        found.append({name: value[run] for name, value in own.items()})
    return {name: torch.stack([own[name] for own in found]) for name in found[0]}


@pytest.mark.parametrize("network", NETWORKS)
def test_gram_matrices_are_those_of_explicit_gradients(network):
    view = shown(network)
    linear = {name.rpartition(".")[0] for name in view.parameters if name.endswith(".weight")}
    assert grams(view).keys() == linear
    for run in range(2):
        alone, total = each_alone(view, run), 0
        for name, gram in grams(view).items():
            for part in ("weight", "bias"):
                rows = alone[f"{name}.{part}"].flatten(1)
                explicit = rows @ rows.t()
                assert torch.allclose(getattr(gram, part)[run], explicit, rtol=1e-9, atol=1e-12), (name, part)
                total = total + explicit
        assert torch.allclose(whole_gram(view)[run], total, rtol=1e-9, atol=1e-12)
        rows = torch.cat([alone[f"{name}.{part}"].flatten(1) for name in linear for part in ("weight", "bias")], dim=1)
        mean = rows.mean(dim=0)
        expected = mean.square().sum() / (rows - mean).square().sum() * 7
        assert torch.isclose(signal_to_noise(whole_gram(view)[run]), expected, rtol=1e-9)
        shares = torch.linalg.svdvals(alone["output.weight"].flatten(1))
        for values, found in ((shares**2, "gradient_rank"), (shares, "gradient_root_rank")):
            rank = int((values.cumsum(0) < 0.99 * values.sum()).sum()) + 1
            assert GradientRank(layer="output").look(view)[found][run] == rank


def test_the_block_is_the_second_linear_layer_and_others_are_named():
    view = shown("cnn")
    auto, named = GradientRank().look(view), GradientRank(layer="hidden2").look(view)
    assert {name: value.tolist() for name, value in auto.items()} == {
        name: value.tolist() for name, value in named.items()
    }
    assert GradientRank(layer="all").applies_to(view.model)
    with pytest.raises(ConfigError, match=r"diagnostics\.layer is fc1.*hidden1"):
        GradientRank(layer="fc1").applies_to(view.model)


def test_alike_examples_have_one_direction_and_no_noise():
    view = shown()
    alike = {name: value[:, :1].expand(-1, 8, *value.shape[2:]) if value.dim() > 1 else value
             for name, value in view.probe.items()}  # fmt: skip
    view = replace(view, probe=alike)
    assert GradientRank().look(view)["gradient_rank"].tolist() == [1, 1]
    snr = GradientNoise().look(view)["gradient_snr"]
    assert (snr.isnan() | (snr > 1e12)).all()


@pytest.mark.parametrize("network", NETWORKS)
def test_sensitivities_are_differences_of_the_loss(network):
    view, changed = shown(network), 1e-6
    found = sensitivities(view)
    assert found.units.keys() == {unit.name for unit in view.units}
    name = next(iter(found.layers))
    bias = view.parameters[f"{name}.bias"]
    step = torch.zeros_like(bias)
    step[:, 0, 1] = changed
    ahead, behind = (view.losses({**view.parameters, f"{name}.bias": bias + sign * step}) for sign in (1, -1))
    summed = (
        found.layers[name].delta.flatten(3).sum(dim=-1)
        if network in ("cnn", "same", "strided")
        else found.layers[name].delta
    )
    assert torch.allclose((ahead - behind) / (2 * changed), summed[:, :, 1], rtol=1e-5, atol=1e-8)
    assert view.model.network is NETWORKS[network][0], "the model is as it was"


def test_units_without_gradient_and_those_that_gradients_hardly_reach():
    view = shown(activation="relu", runs=1)
    for unit in (0, 1):
        view.parameters["hidden1.bias"][0, 0, unit] = -100.0
    view.parameters["hidden2.weight"][0, 5] = 0.0  # nothing is made of it
    found = seen(ZeroGradientUnits(), view)
    assert found["zero_gradient_units_hidden1"] == 3 / 8
    sizes = sensitivities(view).units["hidden1"][0].abs().mean(dim=0)
    assert sizes[5] == 0
    assert sizes[0] > 0, "by h, of which little is left of a unit that is off"
    for tau in (0.01, 0.9):
        assert seen(GraMa(tau=tau), view)["grama_inactive_hidden1"] == (sizes <= tau * sizes.mean()).sum() / 8


def test_grama_takes_the_size_of_each_gradient_whatever_its_sign():
    """Sizes 1, 0.1, 2 and 0, of which the mean is 0.775; the first unit's gradients would cancel."""
    (unit, *_), (gated, *_) = (view_given([[0.0] * 4], name).units for name in ("relu", "crelu"))
    own = torch.tensor([[1.0, 0.1, 2.0, 0.0], [-1.0, -0.1, 2.0, 0.0]])
    for tau, inactive in ((0.2, [False, True, False, True]), (0.12, [False, False, False, True])):
        assert GraMa(tau=tau).marked(own, unit).tolist() == inactive
    # Of two units with two values each: sizes 0.2 and 1, means over the values.
    assert GraMa(tau=0.35).marked(torch.tensor([[0.0, 1.0, 0.4, -1.0]]), gated).tolist() == [True, False]
    assert GraMa(tau=0.33).marked(torch.tensor([[0.0, 1.0, 0.4, -1.0]]), gated).tolist() == [False, False]


def test_norms_and_churn_look_back_to_the_look_before():
    first = shown(runs=1)
    norms, churn = Norms(), Churn()
    states = norms.start(first), churn.start(first)
    moved = {**first.parameters, "output.bias": first.parameters["output.bias"].clone()}
    moved["output.bias"][0, 0, 1] += 3.0
    later = replace(first, parameters=moved)
    found = norms.look(replace(later, state=states[0])) | churn.look(replace(later, state=states[1]))
    assert found["update_norm"].item() == pytest.approx(3)
    flat = torch.cat([value.flatten() for value in moved.values()])
    assert found["weight_norm"].item() == pytest.approx(flat.norm().item())
    gradient = torch.cat([value.flatten() for value in mean_gradients(later).values()])
    assert found["gradient_norm"].item() == pytest.approx(gradient.norm().item())
    assert found["output_change"].item() == pytest.approx((9 / 3) ** 0.5)
    other = first.forward().outputs["logits"].argmax(dim=2) != 1
    assert found["greedy_churn"].item() == pytest.approx(other.double().mean().item())
    again = norms.look(replace(later, state=states[0])) | churn.look(replace(later, state=states[1]))
    assert again["update_norm"].item() == again["output_change"].item() == again["greedy_churn"].item() == 0


class ByPlace(torch.nn.Module):
    """Two layers that are given the two halves of an example as rows, and one that is given both."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.act, self.last = torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(10, 3)

    def forward(self, x):
        return self.last(self.act(self.first(x.reshape(-1, 4)).reshape(len(x), 10)))


def test_gradients_of_examples_add_up_over_the_rows_of_an_example():
    module, y = ByPlace(), torch.arange(6) % 3
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(0))
    found = measure(module, [(x, y)], [GradientNoise(), GraMa(), GradientRank(layer="first")])
    each = []
    for at in range(6):
        loss = cross_entropy(module(x[at : at + 1]), y[at : at + 1])
        each.append(torch.cat([own.flatten() for own in torch.autograd.grad(loss, list(module.parameters()))]))
    gradients = torch.stack(each)
    signal = gradients.mean(dim=0).square().sum() / gradients.var(dim=0).sum()
    assert found["gradient_snr"] == pytest.approx(float(signal), rel=1e-4)
    assert 1 <= found["gradient_rank"] <= 6
    assert "grama_inactive" in found
