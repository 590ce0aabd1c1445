"""Our own kernels for a GPU where there is none: numbers by Triton's interpreter, and what the code reads and writes.

`python -m pytest -m cuda tests/cuda/test_triton_without_a_gpu.py`, where Triton is installed.
"""

import os
import re
import subprocess
import sys

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed; `pip install triton` brings it.")
pytestmark = pytest.mark.cuda
ADJACENT = {"X_ADJACENT": True, "DELTA_ADJACENT": True}
OPTIONS = {"num_warps": 4, "num_stages": 3, "enable_fp_fusion": False}
INTERPRETED = """
import torch
from torch.nn.functional import conv2d, unfold
from plasticity_lab.kernels.triton_kernels import convolution, gradients

for K, B, C, H, W, kernel, O in ((2, 3, 4, 7, 6, 3, 5), (1, 5, 3, 9, 8, 5, 20), (2, 9, 5, 20, 22, 3, 33)):
    x, delta = torch.randn(K, B, C, H, W), torch.randn(K, B, O, H - kernel + 1, W - kernel + 1)
    weight, bias = torch.randn(K, C * kernel**2, O), torch.randn(K, 1, O)
    theirs = [conv2d(x[k], weight[k].T.reshape(O, C, kernel, kernel), bias[k, 0]) for k in range(K)]
    torch.testing.assert_close(convolution(x, weight, bias, kernel), torch.stack(theirs), rtol=1e-5, atol=1e-4)
    patches = torch.stack([unfold(own, kernel) for own in x])
    found = gradients(x, delta, kernel)
    if B == 3:
        assert torch.equal(gradients(x, delta.movedim(2, -1).contiguous().movedim(-1, 2), kernel), found)
    by_weight = torch.einsum("kbpm,kbom->kpo", patches, delta.flatten(3))
    torch.testing.assert_close(found[:, :-1], by_weight, rtol=1e-5, atol=2e-4)
    torch.testing.assert_close(found[:, -1], delta.sum(dim=(1, 3, 4)), rtol=1e-5, atol=2e-4)
"""
MANY_RUNS = """
import torch
from plasticity_lab.kernels import triton_kernels

triton_kernels.PART = 16
a, b, bias = torch.randn(5, 7, 40), torch.randn(5, 40, 3), torch.randn(5, 1, 3)
wanted = [triton_kernels.product(a, b, each) for each in (bias, None)]
launch, grids = triton_kernels._product, []
class Noted:
    def __getitem__(self, grid):
        grids.append(grid)
        return launch[grid]
triton_kernels._product, triton_kernels.MOST_RUNS = Noted(), 2
assert all(map(torch.equal, wanted, [triton_kernels.product(a, b, each) for each in (bias, None)]))
assert [runs for _, runs, _ in grids] == 4 * [2, 2, 1], "sums of parts, then of the parts"
"""
STEPS = """
import torch
from plasticity_lab.kernels.triton_adam import adam_of_product
from plasticity_lab.kernels.triton_kernels import product
from plasticity_lab.stacking.adamw import AdamW

# Rounded exactly, as a GPU does; torch's own on a CPU is not.
torch.Tensor.sqrt = lambda x: x.double().pow(0.5).float()
optimizer = AdamW(weight_decay=0.1)
for K, B, I, O in ((3, 16, 20, 12), (2, 20, 70, 100), (2, 12, 1, 4), (1, 36, 33, 68)):
    settings = {"lr": torch.logspace(-3, -1, K), "beta1": torch.linspace(0.5, 0.9, K), "beta2": torch.full((K,), 0.99)}
    settings |= {"epsilon": torch.full((K,), 1e-8), "weight_decay": torch.linspace(0, 1, K)}
    settings = {name: value.double() for name, value in settings.items()}
    parameters = {"weight": torch.randn(K, I, O), "bias": torch.randn(K, 1, O)}
    moments = optimizer.start(parameters)
    parts = [value.clone() for of in (parameters, *moments.values()) for value in of.values()]
    ones = torch.ones(1, 1, 1).expand(K, 1, B)
    for step in range(3):
        x, delta = torch.randn(K, B, I), torch.randn(K, B, O + 3)[..., :O]
        gradients = {"weight": product(x.transpose(1, 2), delta, None), "bias": product(ones, delta, None)}
        now = {name: row[0] for name, row in optimizer.corrections(settings, step + 1, 1).items()}
        optimizer.composed(parameters, gradients, moments, settings, now)
        numbers = optimizer.kernel_numbers(settings, now)
        first = [part[-1:].clone() for part in parts]
        adam_of_product(x, delta, numbers, parts, True)
        adam_of_product(x[-1:], delta[-1:], numbers[-1:], first, True)
        assert all(torch.equal(alone[0], part[-1]) for alone, part in zip(first, parts)), "a run alone"
        composed = [value for of in (parameters, *moments.values()) for value in of.values()]
        assert all(map(torch.equal, parts, composed)), (K, B, I, O, step)
    turned = [part.mT.contiguous().mT for part in parts]
    adam_of_product(x, delta, numbers, parts, True)
    adam_of_product(x, delta, numbers, turned, True)
    assert all(map(torch.equal, parts, turned)), "another layout in memory"
"""


CODES = {"convolutions are torch's": INTERPRETED, "many runs are few runs": MANY_RUNS, "steps are composed ones": STEPS}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_the_numbers_are_those_of(code):
    """Steps to the bit, and a run's do not depend on the pack."""
    command, interpreted = [sys.executable, "-c", code], os.environ | {"TRITON_INTERPRET": "1"}
    subprocess.run(command, env=interpreted, check=True)


def compiled(kernel, fixed, strides=()):
    """A kernel for an H200.

    fixed: its constants, and numbers that Triton would see to be 1. strides: beginnings of names of numbers that it
        would see to be multiples of 16, as addresses are.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    kinds = {name: "constexpr" if name in fixed else "*fp32" if name.endswith("_ptr") else "i32" for name in names}
    multiples = [name for name, kind in kinds.items() if kind == "*fp32" or name.startswith(tuple(strides))]
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in multiples if name not in fixed}
    source = ASTSource(kernel, kinds, {(names.index(name),): value for name, value in fixed.items()}, aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=OPTIONS)


def accesses(made, kind):
    """Shape, numbers for each thread and order of axes of a kernel's reads or writes of tiles."""
    code = made.asm["ttgir"]
    layouts = re.findall(
        r"^(#\w+) = #ttg\.blocked<\{sizePerThread = (\[.*?\]).*order = \[([\d, ]+)\]", code, re.MULTILINE
    )
    of = {name: (count, order) for name, count, order in layouts}
    found = re.findall(rf"{kind} .*tensor<(\d+x\d+)x!tt\.ptr<f32>, (#\w+)>", code)
    return {(shape, *of[layout]) for shape, layout in found}


def test_threads_that_gather_gradients_read_what_lies_side_by_side():
    """Places, which are the first axis of both tiles; and nothing but `ldmatrix` takes them on to the products."""
    from plasticity_lab.kernels.triton_kernels import _gradients

    numbers = {"P": 288, "SIDE": 3, "ROWS": 32, "COLUMNS": 32, "TAKEN": 2048, "BO": 32, "BM": 64, "BP": 128}
    made = compiled(_gradients, {**numbers, **ADJACENT, "PRECISION": "tf32x3", "x_W": 1, "delta_W": 1})
    found = accesses(made, "async_copy_global_to_local")
    assert found == {("64x128", "[1, 1]", "0, 1"), ("64x32", "[1, 1]", "0, 1")}, found
    loop = made.asm["ptx"].split("mma.sync")[0]
    assert "ldmatrix" in loop
    assert "ld.shared" not in loop


@pytest.mark.parametrize("columns", [10, 21, 28])
def test_threads_of_a_convolution_read_and_write_what_lies_side_by_side(columns):
    """Places, the second axis; rows may have an odd number of pixels, so that no vector is read across their ends."""
    from plasticity_lab.kernels.triton_kernels import _convolution

    numbers = {"P": 400, "SIDE": 5, "ROWS": columns, "COLUMNS": columns, "BO": 16, "BM": 128, "BP": 16}
    fixed = {**numbers, "BIASED": True, "X_ADJACENT": True, "PRECISION": "tf32x3", "x_W": 1, "weight_O": 1}
    made = compiled(_convolution, fixed)
    pixels = {each for each in accesses(made, "async_copy_global_to_local") if each[0] == "16x128"}
    assert pixels == accesses(made, "tt.store") == {("16x128", "[1, 1]", "1, 0")}


@pytest.mark.parametrize(("columns", "most"), [(10, 2), (21, 1), (28, 4)])
def test_no_vector_is_read_across_the_end_of_a_row(columns, most):
    """Triton is told that places are adjacent, which is false at the end of a row. It counts columns by itself."""
    from plasticity_lab.kernels.triton_kernels import _gradients

    numbers = {"P": 16, "SIDE": 1, "ROWS": columns, "COLUMNS": columns, "TAKEN": 2048, "BO": 16, "BM": 64, "BP": 16}
    fixed = {**numbers, **ADJACENT, "PRECISION": "tf32x3", "x_W": 1, "delta_W": 1}
    made = compiled(_gradients, fixed, strides=("x_", "delta_", "M"))
    counts = [count for kind in ("async_copy", "tt.load") for _, count, _ in accesses(made, kind)]
    assert counts
    assert all(int(count[1:].partition(",")[0]) <= most for count in counts), counts


def test_numbers_that_are_not_side_by_side_are_read_one_by_one():
    """A gradient that is one number expanded, as by the mean of a channel, has steps of 0 from each place to the next.
    Triton takes 0 as a multiple of 16.
    """
    from plasticity_lab.kernels.triton_kernels import _gradients, adjacent

    delta = torch.ones(1, 1, 1, 1, 1).expand(2, 3, 16, 8, 8)
    assert not adjacent(delta, 8)
    assert adjacent(delta.contiguous(), 8)
    assert not adjacent(torch.ones(2, 3, 16, 8, 1), 1), "places below each other"
    numbers = {"P": 288, "SIDE": 3, "ROWS": 8, "COLUMNS": 8, "TAKEN": 2048, "BO": 32, "BM": 64, "BP": 64}
    fixed = {**numbers, "X_ADJACENT": True, "DELTA_ADJACENT": adjacent(delta, 8), "PRECISION": "tf32x3", "x_W": 1}
    code = compiled(_gradients, fixed, strides=("x_", "delta_", "M", "outputs")).asm["ptx"]
    assert not re.search(r"ld\.global\.v\d", code)
    assert set(re.findall(r"cp\.async\.c\w\.shared\.global \[[^]]*\], \[[^]]*\], (\w+)", code)) == {"0x4"}


def test_a_step_sums_no_more_examples_than_a_product_sums_in_one_part():
    from plasticity_lab.kernels.steps_on_gpu import MOST_EXAMPLES
    from plasticity_lab.kernels.triton_kernels import PART

    assert MOST_EXAMPLES == 2 * PART - 1


WEIGHTS, BIASES, THREADS = 32 * 64, 16 * 64, 128
"""Numbers of the two kinds of tiles, and threads that share each."""


@pytest.mark.parametrize("outputs", [100, 256])
def test_a_step_reads_and_writes_parameters_and_moments_once_and_the_gradient_never(outputs):
    """By whole vectors of 16 bytes; a tile of biases is a branch of its own."""
    from plasticity_lab.kernels.triton_adam import _adam_of_product

    tile = {"BI": 32, "BO": 64, "BB": 16, "PRECISION": "tf32x3", "ROUNDED": False}
    shape = {"EXAMPLES": 16, "INPUTS": 784, "OUTPUTS": outputs, "x_I": 1, "delta_O": 1}
    code = compiled(_adam_of_product, {**tile, **shape}).asm["ptx"]
    vectors = (WEIGHTS + BIASES) // THREADS // 4
    assert len(re.findall(r"st\.global", code)) == len(re.findall(r"st\.global\.v4\.b32", code)) == 3 * vectors
    of_products = (32 * 16 + 2 * 16 * 64) // THREADS  # x, and delta in both branches
    numbers = 2 * 7
    assert len(re.findall(r"ld\.global\.v4\.b32", code)) == 3 * vectors
    assert len(re.findall(r"ld\.global\.b32", code)) == of_products + numbers


def test_the_products_of_a_step_are_those_of_the_gradient():
    """The same instruction with the same share of the sum, and no product is added without being rounded."""
    from plasticity_lab.kernels.triton_adam import _adam_of_product
    from plasticity_lab.kernels.triton_kernels import _product

    shape = {"EXAMPLES": 32, "INPUTS": 784, "OUTPUTS": 100, "x_I": 1, "delta_O": 1, "ROUNDED": True}
    tile = {"BI": 32, "BO": 64, "BB": 32, "PRECISION": "tf32x3"}
    step = compiled(_adam_of_product, {**shape, **tile}).asm["ptx"]
    fixed = {"TAKEN": 32, "BIASED": False, "PRECISION": "tf32x3", "BM": 32, "BN": 64, "BR": 32, "a_M": 1, "b_N": 1}
    gradient = compiled(_product, fixed).asm["ptx"]
    instructions = [set(re.findall(r"mma\.\S+", code)) for code in (step, gradient)]
    assert instructions[0] == instructions[1]
    assert len(instructions[0]) == 1
    assert not re.search(r"\bfma\.", step)
    assert "div.rn.f32" in step
    assert "sqrt.rn.f32" in step
