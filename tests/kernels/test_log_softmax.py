"""log_softmax, exact sums and projected distributions by the kernels: the bits of the composed functions that compiled
code has without them, also for numbers that are none, and the same inside graphs."""

from math import inf, nan

import pytest
import torch
from torch import Tensor

from plasticity_lab.agents.torch_compiler import recorded
from plasticity_lab.agents.value.targets import munchausen, returns
from plasticity_lab.kernels import build, layers, operators
from plasticity_lab.kernels.through import prepare
from plasticity_lab.stacking import elementary, products
from tests.helpers.packs import needs_kernels

pytestmark = needs_kernels
LENGTHS = [1, 2, 3, 7, 16, 17, 33, 51, 257]
SHAPES = [(1, 1), (3, 5), (2, 200)]


@pytest.fixture(autouse=True, scope="module")
def prepared():
    prepare()
    build.load("log_softmax")  # before the folder of compiled code is another one


@pytest.fixture
def composed(monkeypatch):
    """The composed functions as compiled code has them."""
    for module in (elementary, returns):
        monkeypatch.setattr(module, "compiles_for_cpu", lambda x: True)


def drawn(*shape: int) -> Tensor:
    """Normal numbers, with rows of different sizes."""
    return torch.randn(shape) * torch.randn(*shape[:-1], 1).exp() * 3


def odd(x: Tensor) -> Tensor:
    """Some numbers replaced: infinite ones, none, very small ones, and some whose e^x is 0 beside others."""
    place = torch.rand_like(x)
    for share, value in ((0.9, -inf), (0.95, -200.0), (0.97, inf), (0.98, nan), (0.99, -0.0)):
        x = torch.where(place > share, value, x)
    return x


def assert_same(found: Tensor, expected: Tensor) -> None:
    """The same bits; a NaN may be any."""
    assert found.shape == expected.shape
    equal = found.view(torch.int32) == expected.view(torch.int32)
    assert (equal | (found.isnan() & expected.isnan())).all()


@pytest.mark.usefixtures("composed")
@pytest.mark.parametrize("make", [lambda x: x, odd], ids=["finite", "odd"])
@pytest.mark.parametrize("length", LENGTHS)
def test_values_and_gradients_are_the_composed_ones_bit_for_bit(length, make):
    for shape in SHAPES:
        x, index = make(drawn(*shape, length)), torch.randint(-1, length + 1, shape)
        delta = drawn(*shape, length) * torch.randint(-1, 2, (*shape, length))
        for ours, theirs, by in (
            (layers.log_softmax, elementary.log_softmax, delta),
            (
                lambda x, index=index: layers.log_softmax_at(x, index),
                lambda x, index=index: elementary.log_softmax_at(x, index),
                delta[..., 0],
            ),
        ):
            found, expected = (x.clone().requires_grad_() for _ in range(2))
            value, composed = ours(found), theirs(expected)
            value.backward(by)
            composed.backward(by)
            assert_same(value, composed)
            assert_same(found.grad, expected.grad)


@pytest.mark.parametrize("length", LENGTHS)
def test_exact_sums_are_the_composed_ones_bit_for_bit(length):
    for shape in SHAPES:
        x = drawn(*shape, length)
        for each in (x, odd(x), 1e-38 * x, 1e-44 * x, 1e37 * x, x.transpose(0, 1), torch.zeros_like(x)):
            assert_same(torch.ops.plasticity_lab.exact_sums(each), products.exact_sums(each))


@pytest.mark.usefixtures("composed")
@pytest.mark.parametrize(("runs", "batch", "atoms"), [(1, 1, 2), (2, 7, 17), (3, 5, 51)])
def test_projections_are_the_composed_ones_bit_for_bit(runs, batch, atoms):
    low, high = torch.tensor([-10.0, 0.0, 5.0])[:runs, None], torch.tensor([10.0, 1.0, 5.25])[:runs, None]
    support = low + (high - low) * torch.linspace(0, 1, atoms)
    own, gamma = 5 * torch.randn(runs, batch), torch.rand(runs, batch)
    gamma[0, -1] = 0
    if batch > 4:
        own[0, :4] = torch.tensor([nan, inf, -inf, 0.0])
    for count in (atoms, 3 * atoms):
        p = torch.rand(runs, batch, count)
        p[0, -1, 0] = nan
        at = None if count == atoms else 10 * torch.randn(runs, batch, count)
        found = torch.ops.plasticity_lab.projected(p, support if at is None else at, support, own, gamma)
        assert_same(found, returns._on_support(p, at, support, own, gamma))


@pytest.mark.slow
def test_a_graph_has_the_same_bits_with_the_operators_and_without(monkeypatch):
    """The loss of distributions and of classes, with gradients, as an update has them; a policy by values / τ."""
    from torch._inductor.utils import fresh_cache, run_and_get_code

    def function(x: Tensor, labels: Tensor, support: Tensor, returns_KB: Tensor, gamma: Tensor) -> list[Tensor]:
        target = returns.projected(elementary.exp(elementary.log_softmax(x.flip(2))), support, returns_KB, gamma)
        policy = munchausen.log_policy(x, support[:, 1])

        def total(x: Tensor) -> tuple[Tensor, Tensor]:
            likelihood = elementary.log_softmax_at(x, labels)
            each = elementary.summed_last(target * elementary.log_softmax(x)) + likelihood
            return each.sum(), each

        return [*torch.func.grad(total, has_aux=True)(x), target, policy]

    x, gamma = drawn(3, 6, 11), torch.rand(3, 6)
    given = x, torch.randint(0, 11, (3, 6)), torch.linspace(-1, 1, 11).expand(3, 11) + 0.9, 2 * drawn(3, 6), gamma
    with fresh_cache():
        with_operators, (code,) = run_and_get_code(recorded, function, given)
    for schema in operators.PARTS["log_softmax"]:
        assert f".{schema.partition('(')[0]}.default(" in code
    monkeypatch.setattr(operators, "serve", lambda x: False)
    for found, expected in zip(with_operators(*given), recorded(function, given)(*given), strict=True):
        assert_same(found, expected)
