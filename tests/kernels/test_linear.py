"""The kernels: sums in a documented order, at every shape, and steps of optimizers as the composed ones take them."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from plasticity_lab.kernels import build
from plasticity_lab.kernels.layers import linear
from plasticity_lab.kernels.through import prepare
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.adamw import AdamW
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.sgd import SGD

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")
SHAPES = [(1, 1, 1, 1), (2, 16, 784, 100), (3, 13, 37, 21), (1, 64, 10, 7), (2, 5, 8, 33), (4, 8, 1, 48)]
SHAPES += [(2, 5, 600, 530)]  # more weights than a product takes at once: three pieces


@pytest.fixture(autouse=True, scope="module")
def prepared():
    prepare()


def whole(*shape: int) -> torch.Tensor:
    """Small whole numbers, of which every sum is exact."""
    return torch.randint(-8, 9, shape).float()


def mostly_zero(x: torch.Tensor) -> torch.Tensor:
    """A fifth of it, as of a digit's pixels."""
    return x * (torch.rand_like(x) < 0.2)


@pytest.mark.sample(3)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("runs", "batch", "inputs", "outputs"), SHAPES)
def test_exact_sums_are_exact(runs, batch, inputs, outputs, sparse):
    x, weight, bias = whole(runs, batch, inputs), whole(runs, inputs, outputs), whole(runs, 1, outputs)
    if sparse:
        x = mostly_zero(x)
    delta = whole(runs, batch, outputs)
    for value in (x, weight, bias):
        value.requires_grad_()
    h = linear(x, weight, bias)
    h.backward(delta)
    x64, weight64, delta64 = (value.detach().double() for value in (x, weight, delta))
    assert torch.equal(h.double(), bias.double() + x64 @ weight64)
    assert torch.equal(x.grad.double(), delta64 @ weight64.transpose(1, 2))
    assert torch.equal(weight.grad.double(), x64.transpose(1, 2) @ delta64)
    assert torch.equal(bias.grad.double(), delta64.sum(dim=1, keepdim=True))


def test_sums_take_their_products_in_order():
    """1 beside 2²⁴ is lost: a sum begins with the bias, and takes the products one by one."""
    big = 2.0**24
    x, ones = torch.tensor([[[big, 1.0, 1.0, -big]]]), torch.ones(1, 4, 1)
    assert linear(x, ones, torch.zeros(1, 1, 1)).item() == 0
    assert linear(x.flip(2), ones, torch.full((1, 1, 1), big)).item() == big + 2
    assert linear(torch.tensor([[[1.0, 1.0, big]]]), ones[:, :3], torch.zeros(1, 1, 1)).item() == big + 2


@pytest.mark.parametrize(("runs", "batch", "inputs", "outputs"), SHAPES)
def test_a_run_alone_is_the_same(runs, batch, inputs, outputs):
    """At every place; and an example is the same in a smaller batch."""
    x, weight, bias = (
        torch.randn(runs, batch, inputs),
        torch.randn(runs, inputs, outputs),
        torch.randn(runs, 1, outputs),
    )
    h = linear(x, weight, bias)
    for run in range(runs):
        alone = linear(x[run : run + 1], weight[run : run + 1].clone(), bias[run : run + 1].clone())
        assert torch.equal(alone[0], h[run])
    assert torch.equal(linear(x[:, :1].contiguous(), weight, bias), h[:, :1])


@pytest.mark.sample(3)
@pytest.mark.parametrize(("runs", "batch", "inputs", "outputs"), SHAPES)
def test_products_by_zero_are_left_out_without_a_trace(runs, batch, inputs, outputs):
    """With as many inputs again that are 1, and count for nothing, none is left out, and every number is the same."""
    x, weight, bias = (
        mostly_zero(torch.randn(runs, batch, inputs)),
        torch.randn(runs, inputs, outputs),
        torch.randn(runs, 1, outputs),
    )
    more = torch.cat([x, torch.ones(runs, batch, inputs)], dim=2)
    h = linear(x, weight, bias)
    assert torch.equal(h, linear(more, torch.cat([weight, torch.zeros_like(weight)], dim=1), bias))
    delta = torch.randn(runs, batch, outputs)
    parameters, moments, settings = started(Adam(), runs, inputs, outputs)
    doubled = {"a.weight": parameters["a.weight"].repeat(1, 2, 1), "a.bias": parameters["a.bias"].clone()}
    of_doubled = Adam().start(doubled)
    now = {name: row[0] for name, row in Adam().corrections(settings, 1, 1).items()}
    Adam().update_linear({"a": x}, {"a": delta}, parameters, moments, settings, now)
    Adam().update_linear({"a": more}, {"a": delta}, doubled, of_doubled, settings, now)
    assert torch.equal(doubled["a.weight"][:, :inputs], parameters["a.weight"])
    assert torch.equal(of_doubled["second"]["a.weight"][:, :inputs], moments["second"]["a.weight"])


OPTIMIZERS = [Adam(), AdamW(weight_decay=0.5), SGD(momentum=0.9, weight_decay=0.1)]


def started(optimizer: Optimizer, runs: int, inputs: int, outputs: int) -> tuple[dict, dict, dict]:
    """Parameters, moments and settings; each run has a learning rate of its own."""
    parameters = {"a.weight": torch.randn(runs, inputs, outputs), "a.bias": torch.randn(runs, 1, outputs)}
    numbers = {name: value for name, value in vars(optimizer).items() if isinstance(value, float)}
    settings = {name: torch.full((runs,), value, dtype=torch.float64) for name, value in numbers.items()}
    settings["lr"] = torch.logspace(-3, -1, runs, dtype=torch.float64)
    return parameters, optimizer.start(parameters), settings


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_what_all_runs_are_given_need_not_be_there_for_each(share):
    x = torch.randn(1, 13, 70) * (torch.rand(1, 13, 70) < share)
    weight, bias = torch.randn(3, 70, 21), torch.randn(3, 1, 21)
    assert torch.equal(linear(x, weight, bias), linear(x.repeat(3, 1, 1), weight, bias))


@pytest.mark.walk(5)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda optimizer: type(optimizer).__name__)
@pytest.mark.parametrize(("runs", "batch", "inputs", "outputs"), SHAPES)
def test_a_step_is_the_composed_one(runs, batch, inputs, outputs, optimizer):
    """Three steps; the sums' order differs, so that last bits do. And a run alone has the same bits."""
    parameters, moments, settings = started(optimizer, runs, inputs, outputs)

    def copy(run: slice) -> tuple[dict, dict]:
        own = {name: value[run].clone() for name, value in parameters.items()}
        return own, {kind: {name: value[run].clone() for name, value in of.items()} for kind, of in moments.items()}

    (one, one_moments), (other, other_moments), (last, last_moments) = (
        copy(slice(None)), copy(slice(None)), copy(slice(runs - 1, runs)),
    )  # fmt: skip
    for step in range(3):
        x, delta = torch.randn(runs, batch, inputs), torch.randn(runs, batch, outputs)
        gradients = {"a.weight": x.transpose(1, 2) @ delta, "a.bias": delta.sum(dim=1, keepdim=True)}
        now = {name: row[0] for name, row in optimizer.corrections(settings, step + 1, 1).items()}
        optimizer.update(other, gradients, other_moments, settings, now)
        optimizer.update_linear({"a": x}, {"a": delta}, one, one_moments, settings, now)
        own = {name: value[-1:] for name, value in settings.items()}
        alone = {name: value[-1:] if value.dim() else value for name, value in now.items()}
        given, told = x[-1:].clone(), delta[-1:].clone()
        optimizer.update_linear({"a": given}, {"a": told}, last, last_moments, own, alone)
    for name, value in one.items():
        np.testing.assert_allclose(value, other[name], rtol=1e-3, atol=1e-4)
        for kind, of in one_moments.items():
            np.testing.assert_allclose(of[name], other_moments[kind][name], rtol=1e-4, atol=1e-5)
        assert torch.equal(value[-1], last[name][0])


def by_hand(optimizer: Optimizer) -> tuple[dict, dict]:
    """Parameters and moments after one step from w = 5, b = 0 by x = 2 and a gradient of 3 by the answer; lr 1e-3."""
    _, _, settings = started(optimizer, 1, 1, 1)
    parameters = {"a.weight": torch.full((1, 1, 1), 5.0), "a.bias": torch.zeros(1, 1, 1)}
    moments = optimizer.start(parameters)
    now = {name: row[0] for name, row in optimizer.corrections(settings, 1, 1).items()}
    x, delta = torch.full((1, 1, 1), 2.0), torch.full((1, 1, 1), 3.0)
    optimizer.update_linear({"a": x}, {"a": delta}, parameters, moments, settings, now)
    return parameters, moments


def test_adam_by_hand():
    """g = 2·3, m = 0.1 g, v = 0.001 g², and at the first step w moves by lr; AdamW takes lr · decay · w before."""
    parameters, moments = by_hand(Adam())
    assert moments["first"]["a.weight"].item() == pytest.approx(0.6)
    assert moments["second"]["a.weight"].item() == pytest.approx(0.036)
    assert parameters["a.weight"].item() == pytest.approx(5 - 1e-3)
    assert parameters["a.bias"].item() == pytest.approx(-1e-3)
    parameters, _ = by_hand(AdamW(weight_decay=0.5))
    assert parameters["a.weight"].item() == pytest.approx(5 - 1e-3 * 0.5 * 5 - 1e-3)


def test_sgd_by_hand():
    """v = g + decay · w = 6 + 0.1 · 5; of the bias, 3. θ moves by lr · v."""
    parameters, moments = by_hand(SGD(momentum=0.9, weight_decay=0.1))
    assert moments["velocity"]["a.weight"].item() == pytest.approx(6.5)
    assert moments["velocity"]["a.bias"].item() == pytest.approx(3)
    assert parameters["a.weight"].item() == pytest.approx(5 - 6.5e-3)
    assert parameters["a.bias"].item() == pytest.approx(-3e-3)


SCRIPT = """
import sys
import torch
from plasticity_lab.kernels import build
build.FLAGS["AVX512"] = build.FLAGS[sys.argv[1]]
from plasticity_lab.kernels.through import prepare
prepare()
torch.manual_seed(0)
kernels = torch.ops.plasticity_lab
x, weight, bias, delta = (torch.randn(2, *shape) for shape in ((13, 37), (37, 21), (1, 21), (13, 21)))
numbers = torch.tensor([[0.1, 0.001, 0.999, 1e-8, 1e-3, 3.0, 0.9]] * 2)
moments = [torch.zeros_like(value) for value in (weight, bias, weight, bias)]
found = [kernels.linear(x, weight, bias), kernels.linear_input(delta, weight), *kernels.linear_weight(x, delta)]
kernels.linear_adam(x, delta, numbers, weight, bias, *moments)
kernels.linear_sgd(x, delta, numbers[:, :3].contiguous(), weight, bias, *moments[:2])
kernels.adam(numbers, [weight.sin(), bias.sin()], [weight, bias], moments[:2], moments[2:])
kernels.follow(numbers[:, 6].contiguous(), [weight.cos()], [weight])
few, wide, told = torch.randn(2, 64, 96), torch.randn(2, 96, 40), torch.randn(2, 64, 40)
few = torch.where(few > 1.5, few, 0)  # zeros are left out
found += [kernels.linear(few, wide, torch.randn(2, 1, 40)), *kernels.linear_weight(few, told)]
image, patch, told = (torch.randn(2, *shape) for shape in ((3, 6, 7, 5), (45, 21), (3, 6, 7, 21)))
found += [kernels.conv(image, patch, torch.randn(2, 1, 21), 3, 1), kernels.conv_input(told, patch, 3, 1)]
found += [*kernels.conv_weight(image, told, 3, 1)]
found += [kernels.linear(torch.randn(1, 5, 600), torch.randn(1, 600, 530), torch.randn(1, 1, 530))]
largest, where = kernels.pool(torch.randn(2, 9, 8, 21), 3, 2, 1, 0, 5, 4)
found += [largest, where, kernels.pool_input(torch.randn(2, 5, 4, 21), where, 3, 2, 1, 0, 9, 8)]
for of_columns in (False, True):
    table = torch.randn(2, 19, 37)
    found += [shares := kernels.softmax(table, of_columns, 17), kernels.softmax_input(table, shares, of_columns)]
rows, scale = torch.randn(2, 42, 21), torch.randn(2, 1, 21)
result, mean, variance = kernels.layer_norm(rows, scale, scale, 1e-5)
found += [result, mean, variance, *kernels.layer_norm_inputs(result, rows, scale, mean, variance, 1e-5)]
shares = torch.full((6,), 1 / 6)
result, mean, variance = kernels.batch_norm(rows, shares, scale, scale, 1e-5)
found += [result, mean, variance, *kernels.batch_norm_inputs(result, rows, shares, scale, mean, variance, 1e-5)]
found += kernels.gelu(3 * rows, torch.tensor([1.0, 0.7]))
drawn = kernels.uniforms(torch.tensor([[1, 2], [3, 4]]), torch.tensor(5), 242)
found += [drawn, kernels.normals(drawn), kernels.noise_factors(drawn, 13, 20)]
labels, some = torch.arange(84).view(2, 42) % 21, torch.randn(2, 42, 61)
found += [kernels.log_softmax(3 * rows), kernels.log_softmax_input(rows, rows), kernels.exact_sums(some)]
found += [kernels.log_softmax_at(rows, labels), kernels.log_softmax_at_input(rows[..., 0], rows, labels)]
found += [kernels.projected(rows.square(), rows, scale[:, 0].sort().values, rows[..., 1], rows[..., 2])]
tables = rows, result, 2 * rows, 21, 3
found += [kernels.attention(*tables), *kernels.attention_inputs(result, *tables)]
print([value.numpy().tobytes().hex() for value in [*found, weight, bias, *moments]])
"""


@pytest.mark.slow
def test_avx2_and_avx512_give_the_same_bits(tmp_path, monkeypatch):
    """On a processor that has only the former, both are that one."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    told = {subprocess.check_output([sys.executable, "-c", SCRIPT, name], text=True) for name in ("AVX512", "AVX2")}
    assert len(told) == 1
