"""What torch's compiler makes of what kernels are given."""

import pytest
import torch
from torch import Tensor

from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.kernels.through import prepare
from tests.helpers.packs import needs_compiler, needs_kernels

pytestmark = [needs_compiler, needs_kernels]


def two_readers(
    images_RI: Tensor, at_KB: Tensor, weight_KIO: Tensor, bias_K1O: Tensor, delta_KBO: Tensor
) -> tuple[Tensor, ...]:
    """A layer of a batch's pixels, and its gradients."""
    x_KBI = images_RI.index_select(0, at_KB.flatten()).view(*at_KB.shape, -1).float() / 255
    layer = torch.ops.plasticity_lab
    return layer.linear(x_KBI, weight_KIO, bias_K1O), *layer.linear_weight(x_KBI, delta_KBO)


def given() -> tuple[Tensor, ...]:
    """Of two runs, three examples, five pixels, four units."""
    images_RI = torch.randint(0, 256, (7, 5), dtype=torch.uint8)
    return images_RI, torch.randint(7, (2, 3)), torch.randn(2, 5, 4), torch.randn(2, 1, 4), torch.randn(2, 3, 4)


@pytest.mark.slow
def test_what_two_kernels_read_is_computed_once(monkeypatch):
    """Whatever was compiled in this process before, and with the numbers that it has eagerly."""
    from torch._inductor import graph, lowering
    from torch._inductor.utils import fresh_cache, run_and_get_code

    prepare()
    others = {each for each in lowering.needs_realized_inputs if "plasticity_lab" not in str(each)}
    for module in (graph, lowering):
        monkeypatch.setattr(module, "needs_realized_inputs", others)
    tensors = given()
    with fresh_cache():
        compiled, (code,) = run_and_get_code(Compiled(two_readers), *tensors)
    assert code.count("empty_strided_cpu((2, 3, 5)") == 1
    assert all(map(torch.equal, compiled, two_readers(*tensors)))
