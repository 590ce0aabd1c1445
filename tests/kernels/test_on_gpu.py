"""Products and convolutions on a GPU, computed by torch on a CPU; tests/cuda has the rest."""

from types import SimpleNamespace

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import conv2d

from plasticity_lab.kernels import on_gpu
from plasticity_lab.kernels.on_gpu import convolution, product
from tests.helpers.packs import needs_compiler


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


THERE = torch.device("cuda", 1)
X = SimpleNamespace(is_cuda=True, dtype=torch.float32, device=THERE)


@pytest.fixture
def tried(monkeypatch):
    """The trials of a machine with Triton, and their result: set it to an error, or to whether the product is right."""
    seen = SimpleNamespace(result=True, devices=[])

    def product_of_ones(device):
        seen.devices.append(device)
        if isinstance(seen.result, Exception):
            raise seen.result
        return seen.result

    monkeypatch.setattr(on_gpu, "_tried", {})
    monkeypatch.setattr(on_gpu, "_product_of_ones", product_of_ones)
    monkeypatch.setattr(on_gpu.importlib.util, "find_spec", lambda name: name)
    return seen


def test_a_gpu_is_tried_once(tried, caplog):
    assert on_gpu.serves(X)
    assert on_gpu.serves(X)
    assert tried.devices == [THERE]
    assert not caplog.records
    assert not on_gpu.serves(SimpleNamespace(is_cuda=True, dtype=torch.float64, device=THERE))
    assert not on_gpu.serves(torch.ones(1))


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (RuntimeError("Failed to find C compiler. Please specify via CC environment variable.\nA trace"), "C compiler"),
        (ImportError("libcuda.so"), "ImportError: libcuda.so"),
        (False, "a product is wrong"),
        (None, "Triton is not installed"),
    ],
    ids=["no compiler", "Triton cannot be imported", "wrong numbers", "no Triton"],
)
def test_without_the_kernels_torch_computes_the_layers_and_one_warning_says_so(
    result, said, tried, caplog, monkeypatch
):
    tried.result = result
    if result is None:
        monkeypatch.setattr(on_gpu.importlib.util, "find_spec", lambda name: None)
    assert not on_gpu.serves(X)
    assert not on_gpu.serves(X)
    (record,) = caplog.records
    words = record.getMessage()
    assert all(each in words for each in (said, "cuda:1", "C compiler", "depend on the other runs", "CC=PATH"))
    assert "\n" not in words


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("full"), torch.AcceleratorError("lost")])
def test_a_gpu_that_is_full_or_lost_says_nothing_about_the_kernels(error, tried):
    tried.result = error
    with pytest.raises(type(error)):
        on_gpu.serves(X)
    tried.result = True
    assert on_gpu.serves(X), "it is tried again"


@needs_compiler
def test_a_compiled_graph_has_the_answer_of_the_trial_as_a_constant(tried, monkeypatch):
    """The trial sees neither the graph's tensors, nor functions that are being differentiated."""
    seen = []
    real = on_gpu._trial
    monkeypatch.setattr(on_gpu, "_trial", lambda device: seen.append(type(torch.ones(1))) or real(device))

    def gradient(x):
        return torch.func.grad(lambda x: (x * (2 if on_gpu.hindrance(x.device) is None else 3)).sum())(x)

    compiled = torch.compile(gradient, fullgraph=True, backend="aot_eager")
    assert compiled(torch.ones(3)).tolist() == [2, 2, 2]
    assert seen == [torch.Tensor]
