"""Products and convolutions on a GPU, computed by torch on a CPU; tests/cuda has the rest."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import conv2d

from plasticity_lab.kernels.on_gpu import convolution, product


def numbers(*shapes):
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, dtype=torch.float64, generator=draw, requires_grad=True) for shape in shapes]


def test_each_run_is_a_convolution_of_its_own():
    x, weight, bias = numbers((2, 3, 2, 5, 4), (2, 18, 6), (2, 1, 6))
    theirs = [conv2d(x[k], weight[k].T.reshape(6, 2, 3, 3), bias[k, 0]) for k in range(2)]
    torch.testing.assert_close(convolution(x, weight, bias, 3), torch.stack(theirs))


def test_gradients_of_first_and_second_order_are_those_of_a_convolution():
    x, weight, bias = numbers((2, 2, 2, 4, 3), (2, 8, 3), (2, 1, 3))
    for given in ((x, weight, bias, 2), (x, weight, None, 2)):
        assert gradcheck(convolution, given)
        assert gradgradcheck(convolution, given)


def test_a_functional_gradient_is_the_convolutions():
    x, weight, bias = torch.ones(1, 2, 1, 3, 3), torch.zeros(1, 4, 1), torch.zeros(1, 1, 1)
    by_weight, by_bias = torch.func.grad(lambda w, b: convolution(x, w, b, 2).sum(), argnums=(0, 1))(weight, bias)
    assert torch.equal(by_weight, torch.full((1, 4, 1), 8.0))  # two examples, four places
    assert torch.equal(by_bias, torch.full((1, 1, 1), 8.0))


def test_more_numbers_than_a_kernel_can_count_are_a_sentence():
    images = torch.zeros(1).expand(1, 2, 1, 2**15, 2**15)  # in no memory
    with pytest.raises(ValueError, match="2,147,483,648 numbers"):
        convolution(images, torch.zeros(1, 1, 1), None, 1)


def test_gradients_of_first_and_second_order_are_those_of_a_product():
    a, b, bias = numbers((2, 3, 4), (2, 4, 5), (2, 1, 5))
    assert torch.equal(product(a, b, bias), torch.baddbmm(bias, a, b))
    assert gradcheck(product, (a, b, bias))
    assert gradgradcheck(product, (a, b, bias))
    assert gradgradcheck(product, (a, b))


def test_a_functional_gradient_is_the_products():
    a, b, bias = torch.ones(1, 2, 3), torch.full((1, 3, 4), 2.0), torch.zeros(1, 1, 4)
    by_b, by_bias = torch.func.grad(lambda b, bias: product(a, b, bias).sum(), argnums=(0, 1))(b, bias)
    assert torch.equal(by_b, torch.full_like(b, 2.0))
    assert torch.equal(by_bias, torch.full_like(bias, 2.0))
