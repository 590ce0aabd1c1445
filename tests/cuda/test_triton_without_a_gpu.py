"""Our own convolution for a GPU where there is none: its numbers by Triton's interpreter, and what its code reads.

`python -m pytest -m cuda tests/cuda/test_triton_without_a_gpu.py`, where Triton is installed.
"""

import os
import re
import subprocess
import sys

import pytest

triton = pytest.importorskip("triton", reason="Triton is not installed; `pip install triton` brings it.")
pytestmark = pytest.mark.cuda
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
    by_weight = torch.einsum("kbpm,kbom->kpo", patches, delta.flatten(3))
    torch.testing.assert_close(found[:, :-1], by_weight, rtol=1e-5, atol=2e-4)
    torch.testing.assert_close(found[:, -1], delta.sum(dim=(1, 3, 4)), rtol=1e-5, atol=2e-4)
"""


def test_its_numbers_are_torchs():
    command, interpreted = [sys.executable, "-c", INTERPRETED], os.environ | {"TRITON_INTERPRET": "1"}
    subprocess.run(command, env=interpreted, check=True)


def test_threads_that_gather_gradients_read_what_lies_side_by_side():
    """Places, which are the first axis of both tiles; and nothing but `ldmatrix` takes them on to the products."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from plasticity_lab.kernels.triton_kernels import _gradients

    numbers = {"P": 288, "SIDE": 3, "ROWS": 32, "COLUMNS": 32, "TAKEN": 2048, "BO": 32, "BM": 64, "BP": 128}
    fixed = {**numbers, "PRECISION": "tf32x3", "x_W": 1, "delta_W": 1}
    names = _gradients.arg_names
    kinds = {name: "constexpr" if name in fixed else "*fp32" if name.endswith("_ptr") else "i32" for name in names}
    source = ASTSource(_gradients, kinds, {(names.index(name),): value for name, value in fixed.items()})
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 3})
    code = made.asm["ttgir"]
    layouts = dict(re.findall(r"^(#\w+) = #ttg\.blocked<\{.*order = \[([\d, ]+)\]", code, re.MULTILINE))
    copies = re.findall(r"async_copy_global_to_local .*tensor<(\d+x\d+)x!tt\.ptr<f32>, (#\w+)>", code)
    assert {(shape, layouts[layout]) for shape, layout in copies} == {("64x128", "0, 1"), ("64x32", "0, 1")}, code
    loop = made.asm["ptx"].split("mma.sync")[0]
    assert "ldmatrix" in loop
    assert "ld.shared" not in loop
