"""A module that is trained for 100 steps with an intervention has the laboratory's weights, up to rounding."""

from functools import cache
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.agents.supervised.step import cross_entropy_of, divergence, log_likelihood
from plasticity_lab.agents.update import SECOND, TrainState, UpdateInputs, update_of
from plasticity_lab.data.digits import SOURCES
from plasticity_lab.interventions.now import Now
from plasticity_lab.outside import Plastic
from plasticity_lab.outside.plastic import names
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.adamw import AdamW
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.rmsprop import RMSprop
from plasticity_lab.stacking.run_axis import on_run_axis
from plasticity_lab.stacking.sgd import SGD
from tests.helpers.twins import SIDES, parameters_of, twins

STEPS, BATCH, TASK = 100, 16, 50
SETTINGS: dict[str, dict[str, Any]] = {
    "c_chain": {"first": 10, "window": 10},
    "ccbp": {"every": 10},
    "continual_backprop": {"strength": 0.005, "maturity": 5},
    "dash": {"batch": 64},
    "ewc": {"examples": 64},
    "hare_tortoise": {"every": 30},
    "nap": {"strength": 0.5},
    "parseval": {"decoupled": True},
    "redo": {"every": 10, "strength": 0.6},
    "selective_reinit": {"every": 10, "strength": 0.01},
    "snr": {"strength": 0.9, "min_age": 16, "min_count": 1, "epsilon": 0.4},
}
PAIRS = {
    "adam": (torch.optim.Adam, {"lr": 1e-3}, Adam(lr=1e-3)),
    "fused": (torch.optim.Adam, {"lr": 1e-3, "fused": True}, Adam(lr=1e-3)),
    "foreach": (torch.optim.AdamW, {"lr": 1e-3, "weight_decay": 0.1, "foreach": True}, AdamW(1e-3, weight_decay=0.1)),
    "sgd": (torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9}, SGD(lr=1e-2, momentum=0.9)),
    "rmsprop": (torch.optim.RMSprop, {"lr": 1e-3}, RMSprop(lr=1e-3)),
}  # fmt: skip
CASES = [
    ("normed" if name == "nap" else "mlp", name, "adam") for name in sorted(names.CLASSES.keys() - names.PRESETS.keys())
]
CASES += [
    (kind, "redo", pair) for kind, pair in (("mlp", "fused"), ("mlp", "foreach"), ("mlp", "sgd"), ("cnn", "adam"))
]
CASES += [("mlp", "continual_backprop", "rmsprop"), ("cnn", "selective_reinit", "adam"), ("cnn", "fire", "adam")]


@cache
def digits(side: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Embedded digits of the first five classes, as floats, enlarged or cut to a side."""
    found = SOURCES["digits"].load(None)
    x = torch.from_numpy(found.train_images).float() / 16
    y = torch.from_numpy(found.train_labels)
    x, y = x[y < 5], y[y < 5]
    return torch.nn.functional.interpolate(x, size=(side, side)), y


class Coming:
    """The gradients of the laboratory's mean loss on the coming data."""

    def __init__(self, loss, settings, x, y):
        self.loss, self.settings, self.x, self.y = loss, settings, x, y

    def gradients(self, parameters, batch, most=None):
        for x, y in zip(self.x.split(batch), self.y.split(batch), strict=True):
            whole = {
                "x": x.flatten(1).unsqueeze(0),
                "labels": y.unsqueeze(0),
                "weights": torch.full((len(x),), 1 / len(x)),
            }
            yield torch.func.grad(lambda own, whole=whole: self.loss(own, self.settings, whole).total.sum())(
                dict(parameters)
            )


def laboratory(model, optimizer: Optimizer, own, batches, x, y) -> dict[str, torch.Tensor]:
    """The parameters after the laboratory's updates."""
    parameters, loss = model.start([0], torch.device("cpu")), cross_entropy_of(model)
    settings = {"activation": {}, "optimizer": on_run_axis([optimizer], dtype=torch.float64), "agent": {}}
    settings["intervention"] = on_run_axis([own])
    moments, keys = optimizer.start(parameters), run_keys([0], "intervention")
    update = update_of(model, loss, optimizer, own, examples="x", divergence=divergence)

    def now(**more) -> Now:
        return Now(model, parameters, settings["intervention"], state, moments, seeds=[0], activation={}, **more)

    state: dict[str, torch.Tensor] = {}
    state = own.start(now())
    learned = optimizer.start({name: state[name] for name in own.learned})
    state |= {f"{kind} of {name}": value for kind, values in learned.items() for name, value in values.items()}
    for count, at in enumerate(batches):
        first = getattr(laboratory, "begun", 0) if own.restarts_agent and count >= TASK else 0
        corrections = optimizer.corrections(settings["optimizer"], count + 1 - first, 1)
        inputs = UpdateInputs(settings, keys, torch.tensor(count), {name: row[0] for name, row in corrections.items()})
        batch = {"x": x[at].flatten(1).unsqueeze(0), "labels": y[at].unsqueeze(0)}
        batch |= {"weights": torch.full((BATCH,), 1 / BATCH), SECOND: batch["x"].flip(1)}
        state, _ = update(TrainState(parameters, moments, state), inputs, batch)
        if own.every is not None and (count + 1) % own.every == 0:
            state = own.every_n_updates(now(updates=count + 1))
        if count + 1 == TASK:
            data = lambda most: [(x[:most].flatten(1).unsqueeze(0), y[:most].unsqueeze(0))]  # noqa: E731
            state = own.after_task(now(updates=TASK, task=0, examples=data, log_likelihood=log_likelihood))
            if own.restarts_agent:
                moments, laboratory.begun = optimizer.start(parameters), TASK
            state = own.before_task(now(updates=TASK, task=1, coming=Coming(loss, settings, x[:128], y[:128])))
    return parameters


@cache
def untrained_by(kind: str, pair: str) -> dict[str, torch.Tensor]:
    """The laboratory's parameters after training without an intervention."""
    x, y = digits(SIDES[kind])
    return laboratory(twins(kind)[1], PAIRS[pair][2], names.made("none", {}), order(len(x)), x, y)


def order(count: int) -> torch.Tensor:
    """The examples of each batch."""
    return torch.randint(count, (STEPS, BATCH), generator=torch.Generator().manual_seed(0))


@pytest.mark.walk(12)
@pytest.mark.parametrize(("kind", "name", "pair"), CASES)
def test_a_module_and_the_laboratorys_network_end_with_the_same_weights(kind, name, pair):
    module, model = twins(kind)
    x, y = digits(SIDES[kind])
    batches = order(len(x))
    settings = SETTINGS.get(name, {})
    of, arguments, optimizer = PAIRS[pair]
    trained = of(module.parameters(), **arguments)
    shown = {"example": x[:2]} if name == "nap" else {}
    keep = Plastic(module, trained, name, **shown, **settings)
    untouched = parameters_of(module, model)
    for count, at in enumerate(batches):
        each = cross_entropy(module(x[at]), y[at], reduction="none")
        trained.zero_grad()
        term = keep.penalty(loss=each, second=x[at].flip(0)) if name == "c_chain" else keep.penalty()
        (each.mean() + term).backward()
        trained.step()
        keep.step()
        if count + 1 == TASK:
            keep.task_ended(examples=[(x[:64], y[:64])], coming=(x[:128], y[:128]))
    wanted = laboratory(model, optimizer, names.made(name, settings), batches, x, y)
    plain = untrained_by(kind, pair)
    reached = parameters_of(module, model)
    for layer, value in wanted.items():
        torch.testing.assert_close(reached[layer], value, rtol=0, atol=1e-5)
    assert any(not torch.equal(value, plain[layer]) for layer, value in wanted.items()) == (name != "none")
    assert any(not torch.equal(value, untouched[layer]) for layer, value in reached.items())
