import numpy as np
import pytest
import torch

from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.adam import Adam, _update_composed, _update_run_by_run
from plasticity_lab.stacking.run_axis import on_run_axis

RUNS = [
    {"lr": 1e-3},
    {"lr": 1e-4, "beta1": 0.5},
    {"lr": 0.03, "beta2": 0.9, "epsilon": 1e-3},
    {"lr": 1e-3, "beta1": 0.0, "beta2": 0.99999},
]
SHAPES = {"odd": (91, 7), "bias": (1, 93), "one": (1,), "even": (16, 12)}
STEPS = 300


def numbers(purpose: str, *position: int) -> dict[str, torch.Tensor]:
    """name → (K, ...); the runs' numbers are of very different sizes."""
    return {
        name: torch.from_numpy(np.stack([host_stream(k, purpose, name, *position).normal(size=shape) * 10.0 ** (k - 3)
                                         for k in range(len(RUNS))]).astype(np.float32))
        for name, shape in SHAPES.items()
    }  # fmt: skip


GRADIENTS = [numbers("gradient", step) for step in range(STEPS)]


def stepped(update, rows=(0, 1, 2, 3), chunk=STEPS):
    """Parameters of those runs after all steps, their corrections taken so many steps at a time."""
    optimizer = Adam()
    settings = on_run_axis([Adam(**RUNS[k]) for k in rows], dtype=torch.float64)
    parameters = {name: value[list(rows)] for name, value in numbers("start").items()}
    moments = optimizer.start(parameters)
    for first in range(0, STEPS, chunk):
        corrections = optimizer.corrections(settings, first + 1, chunk)
        for s in range(chunk):
            gradients = {name: value[list(rows)] for name, value in GRADIENTS[first + s].items()}
            now = {name: values[s] for name, values in corrections.items()}
            update(parameters, gradients, moments, settings, now)
    return parameters


def pytorchs(k: int, dtype: torch.dtype, **kind) -> dict[str, torch.Tensor]:
    parameters = {name: torch.nn.Parameter(value[k].to(dtype)) for name, value in numbers("start").items()}
    own = Adam(**RUNS[k])
    optimizer = torch.optim.Adam(parameters.values(), own.lr, (own.beta1, own.beta2), own.epsilon, **kind)
    for gradients in GRADIENTS:
        for name, parameter in parameters.items():
            parameter.grad = gradients[name][k].to(dtype)
        optimizer.step()
    return {name: parameter.detach() for name, parameter in parameters.items()}


@pytest.mark.parametrize("k", range(len(RUNS)))
def test_every_run_is_pytorchs_adam_with_its_own_settings(k):
    ours, theirs = stepped(Adam().update), pytorchs(k, torch.float32, fused=True)
    for name in SHAPES:
        assert torch.equal(ours[name][k], theirs[name])


@pytest.mark.parametrize("update", [_update_run_by_run, _update_composed])
def test_both_forms_agree_with_float64_to_rounding(update):
    ours = stepped(update)
    for k, own in enumerate(RUNS):
        exact, start = pytorchs(k, torch.float64), numbers("start")
        for name in SHAPES:
            moved = (exact[name] - start[name][k]).abs().max()
            rounding = torch.finfo(torch.float32).eps * start[name][k].abs().max() * STEPS**0.5
            error = (ours[name][k] - exact[name]).abs().max()
            assert error < 2e-5 * moved + rounding, (own, name)


@pytest.mark.parametrize("update", [_update_run_by_run, _update_composed])
@pytest.mark.parametrize("rows", [[0], [3], [2, 1], [3, 2, 1]])
def test_a_run_gets_the_same_bits_alone_and_in_any_pack(update, rows):
    whole, part = stepped(update), stepped(update, rows)
    for name in SHAPES:
        for place, k in enumerate(rows):
            assert torch.equal(part[name][place], whole[name][k]), name


def test_corrections_do_not_depend_on_how_steps_are_cut_into_chunks():
    whole, cut = stepped(Adam().update), stepped(Adam().update, chunk=75)
    assert all(torch.equal(whole[name], cut[name]) for name in SHAPES)


@pytest.mark.parametrize("update", [_update_run_by_run, _update_composed])
def test_a_gradients_layout_in_memory_does_not_matter(update):
    """The fused kernel ignores strides: an expanded gradient would make it read past the end."""
    settings = on_run_axis([Adam(), Adam()], dtype=torch.float64)
    now = {name: values[0] for name, values in Adam().corrections(settings, 1, 1).items()}
    transposed = torch.arange(24.0).reshape(2, 4, 3).transpose(1, 2)
    for gradient in (transposed, torch.ones(()).expand(2, 3, 4)):
        results = []
        for laid in (gradient, gradient.contiguous()):
            parameters = {"w": torch.zeros(2, 3, 4)}
            moments = Adam().start(parameters)
            update(parameters, {"w": laid}, moments, settings, now)
            results.append(moments["second"]["w"])
        assert torch.equal(*results)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"lr": 0}, "optimizer.lr is 0.0; it must be above 0"),
        ({"beta1": 1}, "optimizer.beta1 is 1.0; it must be at least 0 and below 1"),
        ({"beta2": -0.1}, "optimizer.beta2 is -0.1; it must be at least 0 and below 1"),
        ({"epsilon": -1}, "optimizer.epsilon is -1.0; it must be at least 0"),
        ({"reset": "always"}, "optimizer.reset is 'always'; it must be one of never, task"),
    ],
)
def test_settings_out_of_range_are_refused(settings, sentence):
    with pytest.raises(ConfigError) as raised:
        build("optimizer", "adam", "plasticity_lab.stacking.adam.Adam", settings)
    assert sentence in str(raised.value)
