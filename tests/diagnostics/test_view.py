"""What diagnostics are shown: pre-activations, and a loss that can be differentiated twice, example by example."""

import pytest
import torch

from plasticity_lab.activations.activation import Site
from plasticity_lab.agents.supervised.step import cross_entropy_of
from plasticity_lab.agents.update import example_losses
from plasticity_lab.benchmarks.bodies.stream import Stage
from plasticity_lab.component import load
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.agents.ppo.packs import SMALL, begun
from tests.helpers.networks import classifier
from tests.helpers.packs import choice, choices
from tests.helpers.sweeps import runs_of

CPU = torch.device("cpu")
NETWORKS = {"mlp": (MLP(width=8), (1, 2, 4)), "cnn": (CNN(channels=4, kernel=3, width=8), (1, 12, 12))}


def shown(activation, network="mlp", runs=2):
    """A view of a classifier with weights and probe in float64, so that differences of gradients can be judged."""
    target, settings = choice("activation", activation)
    activations = [load(target)(**settings)] * runs
    model = classifier(*NETWORKS[network][:1], activations, NETWORKS[network][1], 3)
    draw = torch.Generator().manual_seed(0)
    parameters = {name: value.double() for name, value in model.start(range(runs), CPU).items()}
    size = torch.tensor(NETWORKS[network][1]).prod()
    probe = {
        "x": torch.randn(runs, 8, size, generator=draw, dtype=torch.float64),
        "labels": torch.randint(0, 3, (runs, 8), generator=draw),
        "weights": torch.ones(8, dtype=torch.float64),
    }
    settings = {"activation": on_run_axis(activations, dtype=torch.float64)}
    return View(model, parameters, settings, range(runs), example_losses(cross_entropy_of(model), settings), probe)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("activation", ["relu", "prelu", "crelu", "swiglu", "rational"])
def test_pre_activations_are_what_the_activation_is_given(activation, network):
    view = shown(activation, network)
    passed = view.forward()
    assert passed.before.keys() == passed.hidden.keys() == {unit.name for unit in view.model.units}
    for unit in view.units:
        site = Site(view.settings["activation"], view.model.learned_at(unit.name, view.parameters))
        again = view.model.activation(passed.before[unit.name], site)
        assert torch.equal(again, passed.hidden[unit.name])
        assert passed.before[unit.name].shape[2:] == unit.produced
    outputs, hidden = view.model.forward(view.parameters, view.settings["activation"], view.probe["x"], None)
    assert torch.equal(outputs["logits"], passed.outputs["logits"])
    assert all(torch.equal(hidden[name], passed.hidden[name]) for name in hidden)


def test_the_loss_is_each_examples_own_and_its_mean_the_runs():
    view = shown("tanh")
    logits = view.forward().outputs["logits"]
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), view.probe["labels"].flatten(), reduction="none")
    assert torch.allclose(view.losses().flatten(), expected, rtol=1e-12)
    assert torch.allclose(view.loss(), expected.view(2, 8).mean(dim=1), rtol=1e-12)


def gradient_of(view):
    return torch.func.grad(lambda parameters: view.loss(parameters).sum())


@pytest.mark.parametrize(
    ("activation", "network"), [*((name, "mlp") for name in choices("activation")), ("elu", "cnn"), ("tanh", "cnn")]
)
def test_second_derivatives_are_the_differences_of_first_ones(activation, network):
    """The Hessian times a direction, for every activation; the kinks of rectifiers lie elsewhere."""
    view, draw = shown(activation, network), torch.Generator().manual_seed(1)
    along = {
        name: torch.randn(value.shape, generator=draw, dtype=torch.float64) for name, value in view.parameters.items()
    }

    def slope(parameters):
        gradient = gradient_of(view)(parameters)
        return sum((gradient[name] * along[name]).sum() for name in gradient)

    def at(distance):
        moved = {name: value + distance * along[name] for name, value in view.parameters.items()}
        return gradient_of(view)(moved)

    product, ahead, behind = torch.func.grad(slope)(view.parameters), at(1e-6), at(-1e-6)
    for name in product:
        assert torch.allclose(product[name], (ahead[name] - behind[name]) / 2e-6, rtol=2e-4, atol=2e-6), name


def view_of(learner):
    return learner.view(Stage(0, {}, learner.network.body, 32, 32, 32))


def test_of_ppo_too_the_hessian_is_symmetric_and_not_zero():
    learner, rollouts = begun(list(runs_of(*SMALL, "activation=tanh", "seed=0,1")), observed=True)
    learner.advance(rollouts[0])
    view = view_of(learner)
    name = next(iter(view.parameters))
    first, second = torch.randn(2, *view.parameters[name].shape, generator=torch.Generator().manual_seed(0))

    def product(vector):
        gradient = torch.func.grad(lambda own: view.loss({**view.parameters, name: own}).sum())
        return torch.func.grad(lambda own: (gradient(own) * vector).sum())(view.parameters[name])

    one, other = (product(second) * first).sum(), (product(first) * second).sum()
    assert one.abs() > 1e-6
    assert torch.isclose(one, other, rtol=1e-3)


def test_of_ppo_the_probe_is_what_the_loss_of_the_rollout_would_be():
    """Before anything is learned the ratio is 1: the policy's part of the loss is minus the advantage."""
    learner, rollouts = begun(list(runs_of(*SMALL, "agent.value_weight=0", "seed=0,1")), observed=True)
    untrained = {name: value.clone() for name, value in learner.network.parameters.items()}
    learner.advance(rollouts[0])
    view = view_of(learner)
    assert torch.allclose(view.losses(untrained), -view.probe["advantage"], atol=1e-5)
