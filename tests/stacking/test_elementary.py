"""exp, log and log_softmax: values, gradients, and the same bits whatever code a compiler makes of them."""

from math import inf, nan

import numpy as np
import pytest
import torch
from scipy.special import erfi as exact_erfi
from torch import Tensor

from plasticity_lab.stacking import composed, elementary
from plasticity_lab.stacking.elementary import (
    exp,
    exp_minus_one,
    gelu,
    log,
    log_softmax,
    log_softmax_at,
    sin_and_cos,
    summed_last,
    tanh,
    whole_power,
)
from plasticity_lab.stacking.pool import larger
from plasticity_lab.stacking.products import run_sums
from tests.helpers.packs import needs_compiler


@pytest.fixture(params=["composed", "torch's own"])
def both(request, monkeypatch):
    """The functions as a compiled loss on the CPU has them, and as an eager one has them."""
    monkeypatch.setattr(elementary, "compiles_for_cpu", lambda x: request.param == "composed")


def floats(first: float, last: float, step: int) -> Tensor:
    """Every step-th float32 between two positive ones."""
    low, high = np.array([first, last], np.float32).view(np.int32)
    return torch.from_numpy(np.arange(low, high, step, dtype=np.int32).view(np.float32))


def error(values: Tensor, exact: Tensor) -> float:
    """The largest difference from float64 numbers, in units of the last place of a float32."""
    nearest = exact.float().abs()
    unit = torch.nextafter(nearest, torch.tensor(inf)).double() - nearest.double()  # which may be denormal
    return float(((values.double() - exact).abs() / unit).max())


def test_exp_is_off_by_less_than_one_in_the_last_place():
    for x in (floats(1e-9, 88.7228, 1999), -floats(1e-9, 87.3365, 1999), torch.linspace(-1, 1, 200_001)):
        assert error(composed.exp(x), x.double().exp()) < 1


def test_log_is_off_by_less_than_one_in_the_last_place():
    for x in (floats(1.2e-38, 3.4e38, 19_997), floats(0.5, 2, 211)):
        assert error(composed.log(x), x.double().log()) < 1


EVERYWHERE = torch.cat([floats(1e-9, 100, 1999), -floats(1e-9, 100, 1999)])


@pytest.mark.parametrize(
    ("function", "exact", "x"),
    [
        (composed.expm1, torch.expm1, EVERYWHERE[EVERYWHERE < 0]),
        (composed.tanh, torch.tanh, EVERYWHERE),
        (composed.erf, torch.erf, EVERYWHERE),
        (lambda x: composed.sin_and_cos(x)[0], torch.sin, 1000 * EVERYWHERE),
        (lambda x: composed.sin_and_cos(x)[1], torch.cos, 1000 * EVERYWHERE),
    ],
    ids=["expm1", "tanh", "erf", "sin", "cos"],
)
def test_the_others_are_off_by_less_than_two_in_the_last_place(function, exact, x):
    assert error(function(x), exact(x.double())) < 2


def test_erfi_is_off_by_less_than_four_in_the_last_place():
    x = torch.cat([EVERYWHERE[EVERYWHERE.abs() < 9.4], floats(4.4, 4.6, 3)])
    assert error(composed.erfi(x), torch.from_numpy(exact_erfi(x.double().numpy()))) < 4
    assert composed.erfi(torch.tensor([0.0, 9.5, -9.5, inf, -inf])).tolist() == [0, inf, -inf, inf, -inf]
    assert composed.erfi(torch.tensor([nan])).isnan()


@pytest.mark.usefixtures("both")
def test_values_and_gradients_of_the_others_are_near_float64():
    x = torch.linspace(-12, 12, 999)
    for function, exact in (
        (tanh, torch.tanh),
        (gelu, torch.nn.functional.gelu),
        (lambda x: sin_and_cos(x)[0], torch.sin),
        (lambda x: sin_and_cos(x)[1], torch.cos),
        (lambda x: exp_minus_one(x.clamp(max=0)), lambda x: torch.expm1(x.clamp(max=0))),
        (lambda x: whole_power(x, 3), lambda x: x**3),
    ):
        torch.testing.assert_close(function(x), exact(x.double()).float(), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(gradient(function, x), gradient(exact, x.double()).float(), rtol=1e-5, atol=2e-6)
    assert gradient(exp_minus_one, torch.tensor([-30.0])) > 0, "expm1(x) + 1 would be 0 there"


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("classes", [1, 2, 13])
def test_the_likelihood_of_a_label_is_an_entry_of_log_softmax(classes):
    x = (torch.arange(60.0 * classes).view(4, 15, classes) * 7).sin() * 9
    labels = torch.arange(60).view(4, 15) % classes
    at = labels.unsqueeze(-1)
    torch.testing.assert_close(log_softmax_at(x, labels), x.log_softmax(-1).gather(-1, at).squeeze(-1))
    expected = gradient(lambda x: x.log_softmax(-1).gather(-1, at), x)
    torch.testing.assert_close(gradient(lambda x: log_softmax_at(x, labels), x), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.usefixtures("both")
def test_what_is_not_finite():
    x = torch.tensor([0.0, inf, -inf, nan, 88.73, 1e30, -87.34, -1e30])
    torch.testing.assert_close(exp(x), torch.tensor([1.0, inf, 0.0, nan, inf, inf, 0.0, 0.0]), equal_nan=True)
    x = torch.tensor([1.0, 0.0, inf, -inf, nan, -1.0])
    torch.testing.assert_close(log(x), torch.tensor([0.0, -inf, inf, nan, nan, nan]), equal_nan=True)
    x = torch.tensor([[1e4, 0.0], [-inf, 3.0], [-inf, -inf], [inf, 0.0], [nan, 0.0]])
    assert log_softmax(x)[:2].tolist() == [[0.0, -1e4], [-inf, 0.0]]
    assert log_softmax(x)[2:].isnan().all(dim=-1).tolist() == [True, True, True]


@pytest.mark.usefixtures("both")
def test_gradients():
    x = torch.linspace(-80, 80, 999)
    torch.testing.assert_close(gradient(exp, x), x.exp())
    x = torch.logspace(-37, 38, 999)
    torch.testing.assert_close(gradient(log, x), 1 / x)
    x = torch.linspace(-60, 60, 999).view(-1, 3).cos() * 9
    weights = torch.linspace(1, 2, 999).view(-1, 3)
    expected = weights - x.softmax(dim=-1) * weights.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(gradient(lambda x: log_softmax(x) * weights, x), expected)


@pytest.mark.walk(2)
@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("of", [lambda x: x, lambda x: 2 * x, lambda x: larger(x, x.flip(0))])
def test_compiled_gradients_are_there_by_an_argument_itself_and_by_what_is_made_of_it(of):
    torch.compiler.allow_in_graph(larger)

    def gradient(x: Tensor) -> Tensor:
        def total(x: Tensor) -> Tensor:
            x = of(x)
            found = [elementary.exp(x), elementary.log(x), *elementary.sin_and_cos(x), elementary.log_softmax(x)]
            found += [elementary.tanh(x), elementary.gelu(x), elementary.normal_distribution(x)]
            found += [elementary.sigmoid(x), elementary.erfi(x)]
            found += [elementary.exp_minus_one(-x), elementary.log_softmax_at(x, torch.arange(4)).unsqueeze(1)]
            return (
                sum(((n + 1.0) * each[:, :3]).sum() for n, each in enumerate(found))
                + elementary.summed_last(x * x).sum()
            )

        return torch.func.grad(total)(x)

    x = torch.rand(4, 5, generator=torch.Generator().manual_seed(0)) + 0.5
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(gradient, fullgraph=True, backend="eager")(x), gradient(x))


def test_what_diverges_has_no_finite_gradient():
    assert not gradient(exp, torch.tensor([89.0, inf, nan])).isfinite().any()
    assert not gradient(log, torch.tensor([0.0, nan])).isfinite().any()
    unknown = gradient(lambda x: log_softmax(x).diff(), torch.tensor([[inf, 0.0], [nan, 0.0]])).isnan()
    assert unknown.any(dim=-1).all()


@pytest.mark.usefixtures("both")
def test_an_action_that_cannot_be_taken_leaves_the_others_their_gradient():
    """Its logit is −∞."""
    assert gradient(exp, torch.tensor([-inf])).tolist() == [0.0]
    x = torch.tensor([1.0, -inf, 0.5])
    left = gradient(lambda x: log_softmax(x)[0], x)
    torch.testing.assert_close(left[[0, 2]], gradient(lambda x: log_softmax(x)[0], x[[0, 2]]))
    assert left[1] == 0


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("actions", [1, 2, 3, 18])
def test_log_softmax_is_near_float64(actions):
    x = torch.linspace(-40, 40, 60 * actions).view(4, -1, actions).sin() * 12
    torch.testing.assert_close(log_softmax(x), x.double().log_softmax(dim=-1).float(), rtol=1e-6, atol=2e-7)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("actions", [1, 2, 3, 18])
def test_sums_over_actions(actions):
    x = torch.linspace(-40, 40, 60 * actions).view(4, -1, actions).sin() * 12
    torch.testing.assert_close(summed_last(x), x.double().sum(dim=-1).float(), rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(
        gradient(lambda x: summed_last(x).square(), x), (2 * summed_last(x).unsqueeze(-1)).expand_as(x)
    )
    assert summed_last(torch.tensor([[1.0, inf], [nan, 1.0]])).isfinite().tolist() == [False, False]


@pytest.mark.slow
@needs_compiler
def test_scalar_vector_and_eager_code_give_the_same_bits():
    """With torch's own exp and log they do not; 11 rows, so that vectors have a remainder."""

    def function(x: Tensor) -> list[Tensor]:
        values = [composed.exp(x), composed.log(x.abs()), run_sums(x)]  # no others, eager
        labels = torch.ones(3, 11, dtype=torch.int64)
        others = [
            tanh(x),
            gelu(x),
            *sin_and_cos(x),
            exp_minus_one(-x.abs()),
            log_softmax_at(x, labels),
            whole_power(x, 40),
        ]
        gradients = [gradient(each, x) for each in (tanh, gelu, lambda x: log_softmax_at(x, labels))]
        return [*values, log_softmax(x), gradient(lambda x: exp(log_softmax(x)), x), *others, *gradients]

    x = torch.linspace(-700, 700, 3 * 11 * 3).view(3, 11, 3).sin() * 30
    # Of a stated width, which torch's cache of graphs tells apart; it does not tell processors' capabilities apart.
    vector = torch.compile(function, fullgraph=True, dynamic=False, options={"cpp.simdlen": 256})(x)
    torch._dynamo.reset()
    scalar = torch.compile(function, fullgraph=True, dynamic=False, options={"cpp.simdlen": 1})(x)
    torch._dynamo.reset()
    assert [torch.equal(one, other) for one, other in zip(vector, scalar, strict=True)] == [True] * 15
    assert [torch.equal(one, other) for one, other in zip(vector[:3], function(x), strict=False)] == [True] * 3


def gradient(function, x: Tensor) -> Tensor:
    """Of the sum of its values."""
    return torch.func.grad(lambda x: function(x).sum())(x)
