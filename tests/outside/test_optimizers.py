"""The laboratory's optimizers as optimizers of torch: the same steps."""

import copy
import io
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.agents.optimizer_step import TrainState, UpdateInputs, optimizer_step_of
from plasticity_lab.component import load
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.outside import Plastic, optimizer
from plasticity_lab.outside.optimizers import CLASSES
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import CPU, choice, choices
from tests.helpers.twins import CLASSES as LABELS
from tests.helpers.twins import SIDES, gradients_of, parameters_of, same, twins

SETTINGS: dict[str, dict[str, Any]] = {
    "kron": {"update_probability": 0.5, "largest_triangular": 8},
    "sgd": {"momentum": 0.9, "weight_decay": 0.1},
    "trac_adam": {"lr": 0.1},
    "trac_adamw": {"lr": 0.1},
    "trac_sgd": {"lr": 1.0, "momentum": 0.9},
    "upgd": {"scope": "local", "weight_decay": 0.1},
}


def test_every_optimizer_of_the_laboratory_is_known():
    assert CLASSES.keys() == set(choices("optimizer"))
    for name, place in CLASSES.items():
        assert load(f"plasticity_lab.stacking.{place}") is load(choice("optimizer", name)[0])


def step(module, trained, count: int, kind: str = "mlp") -> None:
    draw = torch.Generator().manual_seed(count)
    x = torch.randn(8, 1, SIDES[kind], SIDES[kind], generator=draw)
    trained.zero_grad()
    cross_entropy(module(x), torch.randint(LABELS, (8,), generator=draw)).backward()
    trained.step()


@pytest.mark.parametrize("kind", ["mlp", "cnn", "normed"])
@pytest.mark.parametrize("name", CLASSES)
def test_each_step_has_the_laboratorys_bits(name, kind):
    module, model = twins(kind)
    own = load(f"plasticity_lab.stacking.{CLASSES[name]}")(**SETTINGS.get(name, {}))
    names = dict(module.named_parameters())
    order = [key for key in names if "norm" not in key] + [key for key in names if "norm" in key]
    renamed = {key.replace("norm1.weight", "hidden1.scale").replace("norm1.bias", "hidden1.shift"): names[key]
               for key in order}  # fmt: skip
    renamed = {key.replace("norm2.weight", "hidden2.scale").replace("norm2.bias", "hidden2.shift"): value
               for key, value in renamed.items()}  # fmt: skip
    trained = optimizer(name, list(renamed.items()), **SETTINGS.get(name, {}))
    parameters, first = model.start([0], CPU), model.start([0], CPU)
    moments, rule = own.start(parameters), own.start_state(parameters)
    settings = {"optimizer": on_run_axis([own], CPU, torch.float64), "rule": {"keys": run_keys([0], "optimizer")}}
    lab = optimizer_step_of(model, own, NoIntervention())
    for count in range(8):
        step(module, trained, 0, kind)  # the same batch, for TRAC
        rows = own.corrections(settings["optimizer"], count + 1, 1)
        inputs = UpdateInputs(
            settings, torch.zeros(1, 2), torch.tensor(count), {key: row[0] for key, row in rows.items()}
        )
        lab(TrainState(parameters, moments, {}, rule), gradients_of(module, model), inputs)
        same(parameters, parameters_of(module, model))
    assert any(not torch.equal(value, first[key]) for key, value in parameters.items())


@pytest.mark.parametrize("name", CLASSES)
def test_a_state_that_is_saved_and_loaded_continues_with_the_same_bits(name):
    module, _ = twins("mlp")
    trained = optimizer(name, module, **SETTINGS.get(name, {}))
    for count in range(3):
        step(module, trained, count)
    file = io.BytesIO()
    torch.save([module.state_dict(), trained.state_dict()], file)
    file.seek(0)
    again, _ = twins("mlp", seed=1)
    resumed = optimizer(name, again, **SETTINGS.get(name, {}))
    for part, state in zip((again, resumed), torch.load(file, weights_only=True), strict=True):
        part.load_state_dict(state)
    for count in range(3, 6):
        step(module, trained, count)
        step(again, resumed, count)
    assert all(torch.equal(value, again.state_dict()[key]) for key, value in module.state_dict().items())


def test_a_scheduler_changes_the_rate_and_groups_have_their_own():
    one, two = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    trained = optimizer("sgd", [{"params": [one], "lr": 0.5}, {"params": [two]}], lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(trained, 0.1)
    for rate in (1.0, 0.1):
        one.grad, two.grad = torch.ones(3), torch.ones(3)
        before = one.detach().clone(), two.detach().clone()
        trained.step()
        torch.testing.assert_close(before[0] - one, torch.full((3,), 0.5 * rate))
        torch.testing.assert_close(before[1] - two, torch.full((3,), 0.1 * rate))
        schedule.step()


def test_a_closure_is_called_with_gradients():
    value = torch.nn.Parameter(torch.ones(2, 2))
    trained = optimizer("sgd", [value], lr=0.1)

    def closure():
        trained.zero_grad()
        loss = value.square().sum()
        loss.backward()
        return loss

    assert trained.step(closure) == 4
    torch.testing.assert_close(value.detach(), torch.full((2, 2), 0.8))


def test_an_intervention_resets_their_moments():
    module, _ = twins("mlp")
    trained = optimizer("adam", module)
    keep = Plastic(module, trained, "redo", strength=1e9, every=1)
    step(module, trained, 0)
    assert trained.state[module.hidden1.weight]["first"].any()
    keep.step()
    assert not trained.state[module.hidden1.weight]["first"].any()
    assert not trained.state[module.output.weight]["second"].any()


def test_what_belongs_to_the_laboratory_is_refused():
    with pytest.raises(ConfigError, match=r"'adamm'.*adam"):
        optimizer("adamm", [torch.nn.Parameter(torch.ones(1))])
    with pytest.raises(ConfigError, match=r"'rate'.*lr"):
        optimizer("adam", [torch.nn.Parameter(torch.ones(1))], rate=0.1)
    with pytest.raises(ConfigError, match=r"optimizer.schedule .*torch\.optim"):
        optimizer("adam", [torch.nn.Parameter(torch.ones(1))], schedule="cosine")
    with pytest.raises(ConfigError, match="one group"):
        optimizer("upgd", [{"params": [torch.nn.Parameter(torch.ones(1))]} for _ in range(2)])


def test_a_copy_together_with_its_module_goes_on():
    module = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(16, 6), torch.nn.ReLU(), torch.nn.Linear(6, LABELS)
    )
    trained = optimizer("upgd", module)
    step(module, trained, 0)
    again, resumed = copy.deepcopy((module, trained))
    for one, other in ((module, trained), (again, resumed)):
        step(one, other, 1)
    assert torch.equal(module[3].weight, again[3].weight)
