"""Sums in graphs for a GPU, here taken on a CPU."""

import numpy as np
import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor.decomposition import select_decomp_table

from plasticity_lab.kernels import on_gpu
from plasticity_lab.kernels.compiling import SumsAsProducts, sums

FUNCTIONS = {
    "behind": lambda x: x.sum(dim=-1),
    "kept": lambda x: x.sum(dim=-1, keepdim=True),
    "in the middle": lambda x: x.sum(dim=1),
    "two apart": lambda x: x.sum(dim=(1, 3)),
    "a run's": lambda x: x.sum(dim=(1, 2, 3)),
    "means": lambda x: x.mean(dim=2),
    "softmax": lambda x: torch.log_softmax(x, dim=-1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_products_of_the_same_value(name, monkeypatch):
    monkeypatch.setattr(on_gpu, "serves", lambda x: x.dtype == torch.float32)
    met = []

    def compiler(graph, examples):
        met.append(len(sums(graph.graph)))
        SumsAsProducts()(graph.graph)
        graph.graph.lint()
        graph.recompile()
        assert not sums(graph.graph)
        return make_boxed_func(graph.forward)

    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 4, 5, 10), np.float32))
    function = FUNCTIONS[name]
    torch._dynamo.reset()
    found = torch.compile(
        function, backend=aot_autograd(fw_compiler=compiler, decompositions=select_decomp_table()), fullgraph=True
    )(x)
    assert met == [1]
    torch.testing.assert_close(found, function(x), rtol=1e-6, atol=1e-6)


def test_whole_numbers_are_left_alone(monkeypatch):
    monkeypatch.setattr(on_gpu, "serves", lambda x: x.dtype == torch.float32)
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x.sum(dim=1), tracing_mode="fake")(
        torch.ones(2, 3, dtype=torch.int64)
    )
    assert not sums(graph.graph)
