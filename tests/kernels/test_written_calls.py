"""Functions that compiled loops call: the bits of their operations in Python, in scalar and in vector code."""

from math import inf, nan

import pytest
import torch
from torch import Tensor
from torch._inductor import config

from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.kernels.written_calls import call
from plasticity_lab.randomness import device
from plasticity_lab.stacking import composed
from tests.helpers.packs import needs_compiler

FUNCTIONS = {
    "exp": composed.exp,
    "expm1": composed.expm1,
    "log": composed.log,
    "tanh": composed.tanh,
    "erf": composed.erf,
    "sin": lambda x: composed.sin_and_cos(x)[0],
    "cos": lambda x: composed.sin_and_cos(x)[1],
}
EDGES = [0.0, 1.0, -1.0, inf, -inf, nan, 88.72283, 88.72284, -87.33654, -87.33655, 0.625, 0.9277344, 1e-38, 1e-45, 1e20]


def numbers() -> Tensor:
    """Numbers at the edges, numbers around 0, and floats of random bits."""
    bits = torch.randint(-(2**31), 2**31, (20_000,), generator=torch.Generator().manual_seed(1)).to(torch.int32)
    return torch.cat([torch.tensor(EDGES), torch.linspace(-100, 100, 9973), bits.view(torch.float32)])


def called(x: Tensor, few: Tensor, key_K2: Tensor, step: Tensor) -> tuple[dict[str, Tensor], ...]:
    words = {str(count): device._in_tensors(key_K2, step, count) for count in (3, 1001)}
    return {name: call(name, x) for name in FUNCTIONS}, {name: call(name, few) for name in FUNCTIONS}, words


@needs_compiler
@pytest.mark.parametrize("width", [None, *(pytest.param(width, marks=pytest.mark.slow) for width in (256, 1))])
def test_a_call_has_the_bits_of_its_operations(width, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    x, keys, step = numbers(), device.run_keys([1, 2, 3], "calls"), torch.tensor(2**40 + 12345)
    with config.patch({"cpp.simdlen": width}):
        many, few, words = Compiled(called)(x, x[:3], keys, step)
    written = "".join(path.read_text() for path in tmp_path.rglob("*.main.cpp"))
    for name, function in FUNCTIONS.items():
        assert f"written::{name}(tmp" in written
        for given, found in ((x, many), (x[:3], few)):
            there = ~(given > 0) if name == "expm1" else ~given.isnan()
            torch.testing.assert_close(found[name][there], function(given[there]), rtol=0, atol=0, equal_nan=True)
    assert "written::philox_3(tmp" in written
    assert all(found.equal(device.uniforms(keys, step, int(count))) for count, found in words.items())


def test_outside_of_a_graph_the_operator_does_the_same():
    x = torch.linspace(-3, 3, 7)
    assert call("tanh", x).equal(composed.tanh(x))
