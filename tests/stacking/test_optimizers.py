"""Every optimizer of conf/: PyTorch's own, for every run of a pack with that run's settings, bit for bit as alone."""

from typing import Any

import numpy as np
import pytest
import torch

from plasticity_lab.component import build, load
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.adamw import AdamW
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.rmsprop import RMSprop
from plasticity_lab.stacking.run_axis import on_run_axis
from plasticity_lab.stacking.sgd import SGD
from plasticity_lab.stacking.update_rule import UpdateRule
from tests.helpers.packs import choice, choices

ADAMS = [
    {"lr": 1e-3},
    {"lr": 1e-4, "beta1": 0.5},
    {"lr": 0.03, "beta2": 0.9, "epsilon": 1e-3},
    {"lr": 1e-3, "beta1": 0.0, "beta2": 0.99999},
]
KINDS: dict[str, tuple[type[Optimizer], list[dict[str, float]]]] = {
    "adam": (Adam, ADAMS),
    "adamw": (
        AdamW,
        [own | {"weight_decay": decay} for own, decay in zip(ADAMS, (0.01, 0.0, 0.5, 2.0), strict=True)],
    ),
    "sgd": (
        SGD,
        [{"lr": 0.01}, {"momentum": 0.9}, {"lr": 1e-4, "momentum": 0.99, "weight_decay": 0.1}, {"weight_decay": 0.5}],
    ),
    "rmsprop": (
        RMSprop,
        [{"lr": 1e-3}, {"alpha": 0.0, "epsilon": 1e-3}, {"alpha": 0.9, "weight_decay": 0.1}, {"alpha": 0.99999}],
    ),
}
ALL = pytest.mark.parametrize("kind", KINDS)
FORMS = pytest.mark.parametrize("form", ["run_by_run", "composed"])
SHAPES = {"odd": (91, 7), "bias": (1, 93), "one": (1,), "even": (16, 12)}
STEPS = 300


def numbers(purpose: str, *position: int) -> dict[str, torch.Tensor]:
    """name → (K, ...); the runs' numbers are of very different sizes."""
    return {
        name: torch.from_numpy(np.stack([host_stream(k, purpose, name, *position).normal(size=shape) * 10.0 ** (k - 3)
                                         for k in range(4)]).astype(np.float32))
        for name, shape in SHAPES.items()
    }  # fmt: skip


GRADIENTS = [numbers("gradient", step) for step in range(STEPS)]


def formed(kind: str, form: str | None) -> Any:
    """One form of the step, or the one that the optimizer chooses, as a function of what `update` takes."""
    return getattr(KINDS[kind][0](), form or "update")


def stepped(kind: str, form: str | None = None, rows=(0, 1, 2, 3), chunk=STEPS) -> dict[str, torch.Tensor]:
    """Parameters of those runs after all steps, their corrections taken that many steps at a time."""
    cls, runs = KINDS[kind]
    optimizer, update = cls(), formed(kind, form)
    settings = on_run_axis([cls(**runs[k]) for k in rows], dtype=torch.float64)
    parameters = {name: value[list(rows)] for name, value in numbers("start").items()}
    moments = optimizer.start(parameters)
    for first in range(0, STEPS, chunk):
        corrections = optimizer.corrections(settings, first + 1, chunk)
        for s in range(chunk):
            gradients = {name: value[list(rows)] for name, value in GRADIENTS[first + s].items()}
            now = {name: values[s] for name, values in corrections.items()}
            update(parameters, gradients, moments, settings, now)
    return parameters


def pytorchs(kind: str, k: int, dtype: torch.dtype, **how) -> dict[str, torch.Tensor]:
    """Run k's parameters by torch.optim."""
    cls, runs = KINDS[kind]
    own = cls(**runs[k])
    settings: dict[str, Any] = {"lr": own.lr} | how
    for name in ("weight_decay", "momentum", "alpha"):
        settings |= {name: getattr(own, name)} if hasattr(own, name) else {}
    if hasattr(own, "beta1"):
        settings["betas"] = (own.beta1, own.beta2)
    if hasattr(own, "epsilon"):
        settings["eps"] = own.epsilon
    parameters = {name: torch.nn.Parameter(value[k].to(dtype)) for name, value in numbers("start").items()}
    optimizer = getattr(torch.optim, cls.__name__)(parameters.values(), **settings)
    for gradients in GRADIENTS:
        for name, parameter in parameters.items():
            parameter.grad = gradients[name][k].to(dtype)
        optimizer.step()
    return {name: parameter.detach() for name, parameter in parameters.items()}


def test_every_optimizer_of_conf_is_here():
    """Update rules are in test_update_rules.py."""
    plain = [name for name in choices("optimizer") if not issubclass(load(choice("optimizer", name)[0]), UpdateRule)]
    assert plain == sorted(KINDS)


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("k", range(4))
def test_every_run_is_pytorchs_with_its_own_settings(kind, k):
    ours, theirs = stepped(kind), pytorchs(kind, k, torch.float32, fused=True)
    for name in SHAPES:
        assert torch.equal(ours[name][k], theirs[name])


@ALL
@FORMS
def test_both_forms_agree_with_pytorchs_in_float64_to_rounding(kind, form):
    ours = stepped(kind, form)
    for k in range(4):
        exact, start = pytorchs(kind, k, torch.float64), numbers("start")
        for name in SHAPES:
            moved = (exact[name] - start[name][k]).abs().max()
            rounding = torch.finfo(torch.float32).eps * start[name][k].abs().max() * STEPS**0.5
            error = (ours[name][k] - exact[name]).abs().max()
            assert error < 2e-5 * moved + rounding, (k, name)


@pytest.mark.walk(8)
@ALL
@FORMS
@pytest.mark.parametrize("rows", [[0], [3], [2, 1], [3, 2, 1]])
def test_a_run_gets_the_same_bits_alone_and_in_any_pack(kind, form, rows):
    whole, part = stepped(kind, form), stepped(kind, form, rows)
    for name in SHAPES:
        for place, k in enumerate(rows):
            assert torch.equal(part[name][place], whole[name][k]), name


@ALL
def test_corrections_do_not_depend_on_how_steps_are_cut_into_chunks(kind):
    whole, cut = stepped(kind), stepped(kind, chunk=75)
    assert all(torch.equal(whole[name], cut[name]) for name in SHAPES)


@ALL
@FORMS
def test_a_gradients_layout_in_memory_does_not_matter_and_it_is_left_as_it_is(kind, form):
    """The fused kernels ignore strides: an expanded gradient would make them read past the end."""
    cls, runs = KINDS[kind]
    settings = on_run_axis([cls(**runs[2])] * 2, dtype=torch.float64)
    now = {name: values[0] for name, values in cls().corrections(settings, 1, 1).items()}
    transposed = torch.arange(24.0).reshape(2, 4, 3).transpose(1, 2)
    for gradient in (transposed, torch.ones(()).expand(2, 3, 4)):
        results = []
        for laid in (gradient, gradient.contiguous()):
            parameters, before = {"w": torch.ones(2, 3, 4)}, laid.clone()
            moments = cls().start(parameters)
            formed(kind, form)(parameters, {"w": laid}, moments, settings, now)
            results.append(torch.stack([parameters["w"], *(values["w"] for values in moments.values())]))
            assert torch.equal(laid, before)
        assert torch.equal(*results)


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        ("adam", {"lr": 0}, "optimizer.lr is 0.0; it must be above 0"),
        ("adam", {"beta1": 1}, "optimizer.beta1 is 1.0; it must be at least 0 and below 1"),
        ("adam", {"beta2": -0.1}, "optimizer.beta2 is -0.1; it must be at least 0 and below 1"),
        ("adam", {"epsilon": 0}, "optimizer.epsilon is 0.0; it must be above 0"),
        ("adam", {"reset": "always"}, "optimizer.reset is 'always'; it must be one of never, task"),
        ("adam", {"weight_decay": 0.1}, "optimizer=adam has no setting 'weight_decay'; its settings are lr, beta1"),
        ("adamw", {"weight_decay": -0.1}, "optimizer.weight_decay is -0.1; it must be at least 0"),
        ("sgd", {"momentum": 1}, "optimizer.momentum is 1.0; it must be at least 0 and below 1"),
        ("sgd", {"beta1": 0.9}, "optimizer=sgd has no setting 'beta1'; its settings are lr, momentum, weight_decay"),
        ("rmsprop", {"alpha": 1}, "optimizer.alpha is 1.0; it must be at least 0 and below 1"),
    ],
)
def test_settings_out_of_range_are_refused(kind, settings, sentence):
    cls = KINDS[kind][0]
    with pytest.raises(ConfigError) as raised:
        build("optimizer", kind, f"{cls.__module__}.{cls.__name__}", settings)
    assert sentence in str(raised.value)
