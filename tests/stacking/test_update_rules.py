"""UPGD and TRAC by numbers worked out by hand, and what every update rule keeps: padding, runs apart, switches."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import erfi as exact_erfi

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents import optimizer_step
from plasticity_lab.agents.optimizer_step import OF_RULE, TrainState, UpdateInputs, optimizer_step_of
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.networks.layer_kinds import hidden_layers
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.units import real_columns
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.adaupgd import AdaUPGD
from plasticity_lab.stacking.kron import Kron
from plasticity_lab.stacking.muon import Muon
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import on_run_axis
from plasticity_lab.stacking.trac_adam import TRACAdam
from plasticity_lab.stacking.trac_adamw import TRACAdamW
from plasticity_lab.stacking.trac_sgd import TRACSGD
from plasticity_lab.stacking.update_rule import RuleInputs, noise, run_maximum, run_product
from plasticity_lab.stacking.upgd import UPGD
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU

# Two layers of three units in all: a unit of two inputs, and two of one input, stored with padding to four columns.
MODEL = classifier(MLP(width=1, depth=1), [ReLU()] * 3, (1, 1, 2), 2)
START = {
    "hidden1.weight": [[2.0], [-1.0]], "hidden1.bias": [[0.5]],
    "output.weight": [[1.0, -3.0]], "output.bias": [[0.0, 4.0]],
}  # fmt: skip
GRADIENT = {
    "hidden1.weight": [[-1.0], [1.0]], "hidden1.bias": [[2.0]],
    "output.weight": [[0.5, 1.0]], "output.bias": [[1.0, -0.5]],
}  # fmt: skip
KEYS = run_keys([5, 6, 7], "optimizer")
RULES: dict[str, list[Any]] = {
    "upgd": [UPGD(0.1, 0.9, 0.5, 0.02), UPGD(0.01, 0.99, 0.0), UPGD(1.0, 0.0, 2.0, 0.5)],
    "upgd, local": [UPGD(lr, 0.9, 0.5, 0.02, False, "local") for lr in (0.1, 0.01, 1.0)],
    "adaupgd": [AdaUPGD(0.1), AdaUPGD(0.01, 0.5, 0.9, sigma=0.5), AdaUPGD(0.3, utility_decay=0.0)],
    "kron": [Kron(0.1), Kron(0.01, 0.5, 0.1), Kron(0.3, factor_lr=0.5, update_probability=1)],
    "muon": [Muon(0.1), Muon(0.01, 0.5, 0.1), Muon(0.3, weight_decay=0.5)],
    "trac_adam": [TRACAdam(0.1), TRACAdam(0.01, 0.5), TRACAdam(0.3, scale=1e-3)],
    "trac_adamw": [TRACAdamW(0.1), TRACAdamW(0.01, 0.5), TRACAdamW(0.3, weight_decay=0.5, scale=1e-3)],
    "trac_sgd": [TRACSGD(0.1), TRACSGD(0.01, 0.9), TRACSGD(0.3, weight_decay=0.5, scale=1e-3)],
}
EVERY = pytest.mark.parametrize("rule", RULES)


def laid(values: dict[str, Any], model=MODEL, runs: int = 1) -> dict[str, torch.Tensor]:
    """Numbers of one run, in each of the runs of a pack, as stored."""
    found = {name: torch.zeros_like(value) for name, value in model.start([0] * runs, CPU).items()}
    for name, value in values.items():
        own = torch.as_tensor(value, dtype=torch.float32)
        found[name][..., : own.shape[-1]] = own
    return found


class Stepped:
    """A pack that takes steps of a rule by given gradients."""

    def __init__(self, optimizers: list[Any], parameters: dict[str, torch.Tensor], model=MODEL, keys=KEYS) -> None:
        self.first: Optimizer = optimizers[0]
        self.parameters, self.real = parameters, real_columns(model)
        self.moments, self.rule = self.first.start(parameters), self.first.start_state(parameters)
        own = on_run_axis(optimizers, dtype=torch.float64)
        self.settings = {"optimizer": own, OF_RULE: {"keys": keys[: len(optimizers)]}}
        self.step, self.count = optimizer_step_of(model, self.first, NoIntervention()), 0

    def take(self, gradients: dict[str, torch.Tensor]) -> "Stepped":
        rows = self.first.corrections(self.settings["optimizer"], self.count + 1, 1)
        corrections = {name: values[0] for name, values in rows.items()}
        inputs = UpdateInputs(self.settings, torch.zeros(0), torch.tensor(self.count), corrections)
        self.step(TrainState(self.parameters, self.moments, {}, self.rule), gradients, inputs)
        self.count += 1
        return self

    def of(self, name: str, run: int = 0) -> np.ndarray:
        """The real numbers of a parameter of a run."""
        return self.parameters[name][run, ..., : self.real.get(name)].flatten().numpy()


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x)))


def test_the_small_network_is_padded():
    assert real_columns(MODEL) == {f"output.{part}": 2 for part in ("weight", "bias", "sigma", "sigma_bias")} | {
        f"hidden1.{part}": 1 for part in ("weight", "bias", "sigma", "sigma_bias")
    }
    assert MODEL.start([0], CPU)["output.weight"].shape == (1, 1, 4)


@pytest.mark.parametrize("protecting", [True, False])
def test_upgd_globally_by_hand(protecting):
    """−g∘θ is 2, 1 | −1 | −0.5, 3 | 0, 2. With β = ½ U is half of it, Û all of it. The largest U is 1.5, uncorrected;
    so Û is divided by 1.5. Steps of 0.1 · g times 1 − s, after a decay of 0.1 · 0.2.
    """
    own = Stepped([UPGD(0.1, 0.5, 0.0, 0.2, protecting)], laid(START)).take(laid(GRADIENT))
    utilities = {"hidden1.weight": [2, 1], "hidden1.bias": [-1], "output.weight": [-0.5, 3], "output.bias": [0, 2]}
    for name, utility in utilities.items():
        start, gradient = (np.ravel(values[name]) for values in (START, GRADIENT))
        share = 1 - sigmoid(np.array(utility) / 1.5) if protecting else 1.0
        np.testing.assert_allclose(own.of(name), 0.98 * start - 0.1 * gradient * share, rtol=0, atol=1e-6)
        stored = own.moments["utility"][name][0, ..., : own.real[name]].flatten()
        np.testing.assert_allclose(stored, np.array(utility) / 2)
    assert abs(own.of("hidden1.weight")[0] - (1.96 + (0.1 * (1 - 0.7913915) if protecting else 0.1))) < 1e-6


def test_upgd_locally_by_hand():
    """Each Û is divided by the norm over a unit's inputs (2, 1: √5), over the biases of a layer (0, 2: 2)."""
    own = Stepped([UPGD(0.1, 0.5, 0.0, 0.0, scope="local")], laid(START)).take(laid(GRADIENT))
    quotients = {
        "hidden1.weight": np.array([2, 1]) / np.sqrt(5), "hidden1.bias": [-1], "output.weight": [-1, 1],
        "output.bias": [0, 1],
    }  # fmt: skip
    for name, quotient in quotients.items():
        start, gradient = (np.ravel(values[name]) for values in (START, GRADIENT))
        expected = start - 0.1 * gradient * (1 - sigmoid(quotient))
        np.testing.assert_allclose(own.of(name), expected, rtol=0, atol=1e-6)


def test_a_largest_utility_that_is_negative_turns_the_signs_and_0_over_0_is_0():
    """Padding has utility 0: taken into the maximum, it would hide the negative one."""
    signs = {name: np.sign(value) for name, value in START.items()} | {"output.bias": [[1.0, 1.0]]}
    start = laid(START | {"output.bias": [[2.0, 4.0]]})
    own = Stepped([UPGD(0.1, 0.0, 0.0, 0.0)], start).take(laid(signs))  # −g∘θ = −|θ|: the largest is −0.5
    assert own.of("hidden1.bias")[0] == pytest.approx(0.5 - 0.1 * (1 - sigmoid(-0.5 / -0.5)))
    assert own.of("output.bias")[1] == pytest.approx(4 - 0.1 * (1 - sigmoid(-4 / -0.5)))
    zero = {name: np.zeros_like(value) for name, value in START.items()}
    still = Stepped([UPGD(0.1, 0.0, 0.0, 0.0)], laid(zero)).take(laid(GRADIENT))
    assert still.of("hidden1.bias")[0] == pytest.approx(-0.1)  # s = ½ of a gradient of 2
    down = START | {"hidden1.bias": [[0.0]], "output.bias": [[0.0, 4.0]]}
    mixed = Stepped([UPGD(0.1, 0.0, 0.0, 0.0)], laid(down)).take(laid(signs | {"hidden1.bias": [[2.0]]}))
    assert mixed.of("hidden1.bias")[0] == pytest.approx(-0.1)  # its utility is 0, the largest
    assert mixed.of("output.bias")[1] == pytest.approx(4 - 0.1)  # s = 0 of a utility of −∞


@pytest.mark.parametrize("protecting", [True, False])
def test_upgds_noise_is_weighted_by_the_same_share(protecting):
    plain, noisy = (
        Stepped([UPGD(0.1, 0.5, sigma, 0.0, protecting)], laid(START)).take(laid(GRADIENT)) for sigma in (0.0, 0.3)
    )
    drawn, taken = _drawn(noisy, laid(START)), 0
    for name in sorted(START):
        utility = -np.ravel(START[name]) * np.ravel(GRADIENT[name])
        expected = -0.1 * 0.3 * drawn[name] * (1 - sigmoid(utility / 1.5))
        np.testing.assert_allclose(noisy.of(name) - plain.of(name), expected, rtol=0, atol=1e-6)
        taken += len(utility)
    assert taken == 7


def test_adaupgd_by_hand():
    """After one step m̂ = g and v̂ = g², so Adam's direction is g / (|g| + ε). The step is twice the rate."""
    own = Stepped([AdaUPGD(0.1, 0.9, 0.999, 1e-5, 0.5, 0.0, 0.2)], laid(START)).take(laid(GRADIENT))
    for name in START:
        start, gradient = (np.ravel(values[name]) for values in (START, GRADIENT))
        share = 1 - sigmoid(-start * gradient / 1.5)
        expected = 0.98 * start - 0.2 * gradient / (np.abs(gradient) + 1e-5) * share
        np.testing.assert_allclose(own.of(name), expected, rtol=0, atol=1e-6)


def test_trac_around_sgd_by_hand():
    """Update 1: h = 0, so v = 0 and m = β ε: S = Σ scale · erfi(β) / erfi(1/√2), and θ = θ₀ − S · lr · g.

    Update 2, by the gradient 3 g: θ − θ₀ is divided by S + ε; h = −lr · 3 ‖g‖² · S / (S + ε).
    """
    betas, lr, scale, epsilon = 1 - 0.1 ** np.arange(1, 7), 0.1, 1e-3, 1e-8
    own = Stepped([TRACSGD(lr, scale=scale)], laid(START)).take(laid(GRADIENT))
    first = scale * (exact_erfi(betas) / exact_erfi(np.sqrt(0.5))).sum()
    assert first == pytest.approx(0.010058, rel=1e-4)
    for name, start in START.items():
        expected = np.ravel(start) - first * lr * np.ravel(GRADIENT[name])
        np.testing.assert_allclose(own.of(name), expected, rtol=0, atol=1e-6)
    own.take(laid({name: 3 * np.array(value) for name, value in GRADIENT.items()}))
    squared = sum(np.square(value).sum() for value in GRADIENT.values())
    assert squared == 8.5
    h = -3 * lr * squared * first / (first + epsilon)
    total, variance = betas * betas * epsilon - h, h * h
    each = exact_erfi(total / (np.sqrt(2 * variance) + epsilon))
    second = scale * each.sum() / exact_erfi(np.sqrt(0.5))
    assert own.rule["tuners"]["scale"][0] == pytest.approx(second, rel=1e-5)
    for name, start in START.items():
        gradient = np.ravel(GRADIENT[name])
        delta = -lr * gradient * first / (first + epsilon) - 3 * lr * gradient
        np.testing.assert_allclose(own.of(name), np.ravel(start) + second * delta, rtol=0, atol=1e-6)
    assert torch.equal(own.rule["reference"]["hidden1.weight"], laid(START)["hidden1.weight"])


def test_trac_stays_at_its_reference_while_steps_do_not_pay():
    """Gradients that turn each time: the sum of the tuners is not positive, and θ is θ₀."""
    own = Stepped([TRACSGD(0.1)], laid(START))
    for sign in (1, -1, -1, 1):
        own.take(laid({name: sign * np.array(value) for name, value in GRADIENT.items()}))
    assert own.rule["tuners"]["scale"].tolist() == [0.0]
    assert all(torch.equal(value, laid(START)[name]) for name, value in own.parameters.items())


def test_trac_around_adam_follows_a_slope_as_a_float64_reference_does():
    """From zero, since the difference to a larger θ₀ would lose digits. S grows from 1e-8 to more than 1."""
    model, draw = classifier(MLP(width=13, depth=1), [ReLU()], (1, 3, 3), 5), np.random.default_rng(0)
    own = Stepped([TRACAdam(0.01)], laid({}, model), model)
    names = sorted(own.parameters)
    shapes = {name: own.parameters[name][0, ..., : own.real.get(name)].shape for name in names}
    theta, first, second = ({name: np.zeros(shapes[name]) for name in names} for _ in range(3))
    betas = np.array([0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999], np.float32).astype(float)
    v, m, scale = np.zeros(6), np.full(6, 1e-8), 0.0
    for t in range(1, 61):
        gradients = {name: draw.normal(-2, 1, shapes[name]).astype(np.float32) for name in names}
        own.take(laid(gradients, model))
        left = {name: theta[name] / (scale + 1e-8) for name in names}
        h = sum((left[name] * gradients[name]).sum() for name in names)
        v, m = betas**2 * v + h * h, betas * m - h
        scale = max(0.0, 1e-8 / exact_erfi(np.sqrt(0.5)) * exact_erfi(m / (np.sqrt(2 * v) + 1e-8)).sum())
        for name in names:
            first[name] += 0.1 * (gradients[name] - first[name])
            second[name] += 0.001 * (gradients[name].astype(float) ** 2 - second[name])
            root = np.sqrt(second[name] / (1 - 0.999**t)) + 1e-8
            theta[name] = scale * (left[name] - 0.01 * first[name] / (1 - 0.9**t) / root)
    assert scale > 1
    for name in names:
        ours = own.parameters[name][0, ..., : own.real.get(name)].numpy()
        np.testing.assert_allclose(ours, theta[name], rtol=3e-5)


@EVERY
def test_a_run_gets_the_same_bits_alone_and_in_a_pack_and_padding_stays_zero(rule):
    model = classifier(MLP(width=13, depth=2), [ReLU()] * 3, (1, 3, 3), 5)
    start, draw = model.start([5, 6, 7], CPU), np.random.default_rng(1)
    packed = Stepped(RULES[rule], {name: value.clone() for name, value in start.items()}, model)
    alone = Stepped(RULES[rule][2:], {name: value[2:].clone() for name, value in start.items()}, model, KEYS[2:])
    for _ in range(5):
        gradients = {name: torch.from_numpy(draw.normal(1, 1, value.shape)).float() for name, value in start.items()}
        for name, columns in packed.real.items():
            if name in gradients:
                gradients[name][..., columns:] = 0
        packed.take(gradients)
        alone.take({name: value[2:] for name, value in gradients.items()})
    for name, value in packed.parameters.items():
        assert value.isfinite().all()
        assert torch.equal(value[2], alone.parameters[name][0]), name
        assert not torch.equal(value, start[name])
        assert not value[..., packed.real.get(name, value.shape[-1]) :].any(), name


@EVERY
def test_a_switch_is_left_alone(rule, monkeypatch):
    """A closed expert stays closed, and an open one at 1: neither noise nor decay moves it."""
    monkeypatch.setattr(optimizer_step, "real_columns", lambda model: {**real_columns(model), "hidden1.bias": 0})
    own = Stepped(RULES[rule], laid(START, runs=3)).take(laid(GRADIENT, runs=3))
    assert torch.equal(own.parameters["hidden1.bias"], laid(START, runs=3)["hidden1.bias"])
    assert not torch.equal(own.parameters["hidden1.weight"], laid(START, runs=3)["hidden1.weight"])


def test_noise_is_each_runs_own_and_normal_and_0_in_padding():
    model = classifier(MLP(width=91, depth=1), [ReLU()] * 3, (1, 8, 8), 10)
    own = Stepped(RULES["upgd"], model.start([0, 1, 2], CPU), model)
    now = _inputs(own, own.parameters, real=own.real)
    one, again, next_ = (noise(each, each.names) for each in (now, now, now._replace(count=torch.tensor(8))))
    real = torch.cat([one[name][..., : own.real.get(name)].flatten(1) for name in now.names], dim=1)
    assert real.mean(dim=1).abs().max() < 0.05
    assert (real.std(dim=1) - 1).abs().max() < 0.05
    assert real.unique().numel() > 0.99 * real.numel()
    assert all(not one[name][..., columns:].any() for name, columns in own.real.items() if name in one)
    for name in now.names:
        assert torch.equal(one[name], again[name])
        assert not torch.equal(one[name], next_[name])


def test_sums_and_maxima_are_over_all_parameters_of_a_run():
    values = {"a": torch.tensor([[[-1.0, -2.0, 0.0]], [[-3.0, 5.0, 0.0]]]), "b": torch.tensor([[-4.0], [-6.0]])}
    assert run_maximum(values, ["a", "b"], {"a": 2}).tolist() == [-1.0, 5.0]
    assert run_maximum(values, ["a", "b"], {}).tolist() == [0.0, 5.0]
    assert run_product(values, values, ["a", "b"]).tolist() == [21.0, 70.0]


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (
            "kron.Kron",
            {"memory_saving": "one"},
            "optimizer.memory_saving is 'one'; it must be one of none, largest, all",
        ),
        ("upgd.UPGD", {"utility_decay": 1}, "optimizer.utility_decay is 1.0; it must be at least 0 and below 1"),
        ("upgd.UPGD", {"sigma": -1}, "optimizer.sigma is -1.0; it must be at least 0"),
        ("upgd.UPGD", {"scope": "unit"}, "optimizer.scope is 'unit'; it must be one of global, local"),
        ("adaupgd.AdaUPGD", {"epsilon": 0}, "optimizer.epsilon is 0.0; it must be above 0"),
        ("trac_adam.TRACAdam", {"scale": 0}, "optimizer.scale is 0.0; it must be above 0"),
        ("trac_adamw.TRACAdamW", {"beta2": 1}, "optimizer.beta2 is 1.0; it must be at least 0 and below 1"),
        ("trac_sgd.TRACSGD", {"reset": "always"}, "optimizer.reset is 'always'; it must be one of never, task"),
    ],
)
def test_settings_out_of_range_are_refused(kind, settings, sentence):
    with pytest.raises(ConfigError) as raised:
        build("optimizer", kind, f"plasticity_lab.stacking.{kind}", settings)
    assert sentence in str(raised.value)


def _inputs(own: Stepped, gradients: dict[str, torch.Tensor], real: dict[str, int]) -> RuleInputs:
    """What a rule's step is given."""
    rows = own.first.corrections(own.settings["optimizer"], 1, 1)
    optimizer, keys = own.settings["optimizer"], own.settings[OF_RULE]["keys"]

    def correction(key: str, name: str) -> torch.Tensor:
        return rows[key][0].view(-1, *[1] * (own.parameters[name].dim() - 1))

    def plain(base: Optimizer) -> None:
        now = {name: values[0] for name, values in rows.items()}
        base.update(own.parameters, gradients, own.moments, optimizer, now)

    values = (own.parameters, gradients, own.moments, own.rule, optimizer, correction, real)
    return RuleInputs(*values, MODEL.units, plain, keys, torch.tensor(7), hidden_layers(MODEL.design))


def _drawn(own: Stepped, parameters: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """The noise of the first update."""
    now = _inputs(own, parameters, own.real)._replace(count=torch.tensor(0))
    found = noise(now, now.names)
    return {name: value[0, ..., : own.real.get(name)].flatten().numpy() for name, value in found.items()}
