"""The gradients of products on a GPU, with a CPU's product in place of its own; tests/cuda has the rest."""

import torch
from torch.autograd import gradcheck, gradgradcheck

from plasticity_lab.kernels.on_gpu import product


def test_gradients_of_first_and_second_order_are_those_of_a_product():
    draw = torch.Generator().manual_seed(0)
    a, b, bias = (
        torch.randn(*shape, dtype=torch.float64, generator=draw, requires_grad=True)
        for shape in ((2, 3, 4), (2, 4, 5), (2, 1, 5))
    )
    assert torch.equal(product(a, b, bias), torch.baddbmm(bias, a, b))
    assert gradcheck(product, (a, b, bias))
    assert gradgradcheck(product, (a, b, bias))
    assert gradgradcheck(product, (a, b))


def test_a_functional_gradient_is_the_products():
    a, b, bias = torch.ones(1, 2, 3), torch.full((1, 3, 4), 2.0), torch.zeros(1, 1, 4)
    by_b, by_bias = torch.func.grad(lambda b, bias: product(a, b, bias).sum(), argnums=(0, 1))(b, bias)
    assert torch.equal(by_b, torch.full_like(b, 2.0))
    assert torch.equal(by_bias, torch.full_like(bias, 2.0))
