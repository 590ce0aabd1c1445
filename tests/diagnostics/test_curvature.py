"""The largest eigenvalue, against explicit Hessians and spectra that are known."""

import numpy as np
import pytest
import torch

from plasticity_lab.diagnostics.curvature import Curvature, largest_eigenvalues
from plasticity_lab.errors import ConfigError
from tests.diagnostics.test_gradient_set import shown
from tests.helpers.shown import seen

N = 60
SPECTRA = {
    "positive": np.linspace(0.1, 3, N),
    "one stands out": np.r_[np.linspace(-1, 1, N - 1), 50],
    "the largest in size is negative": np.r_[np.linspace(0, 1, N - 1), -50],
    "all negative": -np.linspace(0.5, 3, N),
    "near zero beside a large negative one": np.r_[np.full(N - 2, -1e-3), 1e-3, -50],
    "close together": np.r_[np.linspace(0, 1, N - 3), 1.98, 1.99, 2.0],
    "zero": np.zeros(N),
}


def symmetric(values, seed):
    turn = torch.linalg.qr(torch.randn(N, N, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))[0]
    return turn @ torch.diag(torch.as_tensor(values, dtype=torch.float64)) @ turn.t()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_of_known_spectra_side_by_side(dtype):
    matrices = torch.stack([symmetric(values, at) for at, values in enumerate(SPECTRA.values())])
    start = torch.randn(len(SPECTRA), N, generator=torch.Generator().manual_seed(9), dtype=torch.float64).to(dtype)

    def product(vectors):
        return torch.stack([own.to(dtype) @ v for own, v in zip(matrices, vectors, strict=True)])

    together = largest_eigenvalues(product, start, most=100, tolerance=1e-3)
    for (name, values), found in zip(SPECTRA.items(), together, strict=True):
        size = np.abs(values).max()
        assert found.value == pytest.approx(values.max(), rel=0.01, abs=1e-4 * size), name
        assert found.residual <= 0.01 * max(abs(values.max()), 0.01 * size), name
        assert found.iterations <= N + 1
        if size:
            assert found.size == pytest.approx(size, rel=0.05)
    at = list(SPECTRA).index("close together")
    alone = largest_eigenvalues(lambda v: (matrices[at].to(dtype) @ v[0]).view(1, -1), start[at : at + 1], 100, 1e-3)
    assert alone == [together[at]], "no search depends on another"


def test_too_few_products_are_seen_in_the_residual():
    matrix = symmetric(SPECTRA["close together"], 3)
    start = torch.randn(1, N, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    (found,) = largest_eigenvalues(lambda v: v @ matrix, start, most=3, tolerance=1e-3)
    assert found.residual > 0.05
    assert found.iterations == 4


def test_a_small_eigenvalue_is_found_beside_one_a_billion_times_larger():
    """The vectors of the basis must stay orthogonal to the last digit, or the large one takes part again."""
    matrix = symmetric(np.r_[np.linspace(0, 1e-3, N - 1), -1e6], 1)
    start = torch.randn(1, N, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    (found,) = largest_eigenvalues(lambda v: v @ matrix, start, most=N, tolerance=1e-13)
    assert found.value == pytest.approx(1e-3, rel=1e-6)
    assert found.residual < 1e-7


def test_a_start_near_another_eigenvector_is_left():
    values = np.r_[np.linspace(0, 1, N - 1), 50]
    turn = torch.linalg.eigh(symmetric(values, 1)).eigenvectors
    noise = torch.randn(N, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    matrix = symmetric(values, 1)
    (found,) = largest_eigenvalues(lambda v: v @ matrix, (turn[:, 30] + 1e-6 * noise).view(1, -1), 60, 1e-3)
    assert found.value == pytest.approx(50, rel=1e-3)


def test_what_is_not_finite_is_not_searched_on():
    asked = []

    def product(vectors):
        asked.append(1)
        return vectors * float("nan")

    (found,) = largest_eigenvalues(product, torch.ones(1, N), most=50, tolerance=1e-3)
    assert np.isnan(found.value)
    assert len(asked) == 2


def hessian(view, names, run):
    """By the parameters of one run, laid side by side."""

    def flat(parameters):
        return torch.cat([parameters[name][run].flatten() for name in names])

    size = len(flat(view.parameters))

    def loss(vector):
        moved, taken = dict(view.parameters), 0
        for name in names:
            own = view.parameters[name]
            part = vector[taken : taken + own[run].numel()].view(own[run].shape)
            taken += own[run].numel()
            moved[name] = torch.cat([own[:run], part.unsqueeze(0), own[run + 1 :]])
        return view.loss(moved)[run]

    vector = flat(view.parameters).requires_grad_()
    (gradient,) = torch.autograd.grad(loss(vector), vector, create_graph=True)
    found = torch.stack([torch.autograd.grad(own, vector, retain_graph=True)[0] for own in gradient])
    assert found.shape == (size, size)
    return torch.linalg.eigvalsh(found)


@pytest.mark.walk(3)
@pytest.mark.parametrize("network", ["mlp", "normalised", "cnn"])
@pytest.mark.parametrize("activation", ["tanh", "relu", "elu", "swiglu"])
@pytest.mark.parametrize("block", ["auto", "all"])
def test_of_networks_it_is_the_explicit_hessians(network, activation, block):
    view = shown(network, activation)
    diagnostic = Curvature(block=block)
    names = diagnostic._block(view)
    if sum(view.parameters[name][0].numel() for name in names) > 700:
        pytest.skip("its explicit Hessian is large")
    found = diagnostic.look(view)
    for run in range(2):
        values = hessian(view, names, run)
        value, residual = found["lambda_max"][run], found["lambda_max_residual"][run]
        scale = values[-1].abs() if values[-1].abs() > 0.01 * values.abs().max() else values.abs().max()
        assert residual <= 0.01 * scale
        assert (value - values[-1]).abs() <= 0.01 * scale


def test_of_a_block_whose_stored_numbers_are_padded_the_padding_is_no_direction():
    """Where all eigenvalues are negative, a direction in which nothing depends would win with 0."""
    view = shown(runs=1)
    name = "output.weight"
    assert view.parameters[name].shape[2] in (3, 4)
    found = seen(Curvature(block="output"), view)
    values = hessian(view, [name], 0)
    assert found["lambda_max"] == pytest.approx(values[-1].item(), rel=1e-2)


def test_an_unknown_block_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match=r"diagnostics\.block is fc2.*hidden1.*output"):
        Curvature(block="fc2").applies_to(shown().model)
    assert Curvature(block="hidden1.bias").applies_to(shown().model)
