import pytest
import torch

from plasticity_lab.agents.compiled import Compiled
from tests.helpers.packs import needs_compiler

pytestmark = pytest.mark.sample(1)


def scaled_by(factor):
    def scaled(x, more):
        more["sum"].add_(x.sum())
        return {"twice": x * factor}

    return scaled


@needs_compiler
def test_each_function_and_each_shape_has_its_own_graph():
    by_2, by_3 = Compiled(scaled_by(2)), Compiled(scaled_by(3))
    for size in (4, 6, 4):
        total = {"sum": torch.zeros(())}
        x = torch.arange(float(size))
        assert torch.equal(by_2(x, total)["twice"], 2 * x)
        assert torch.equal(by_3(x, total)["twice"], 3 * x)
        assert total["sum"] == 2 * x.sum()


@needs_compiler
def test_a_tensor_of_another_shape_within_a_dictionary_is_refused():
    compiled = Compiled(scaled_by(2))
    compiled(torch.ones(4), {"sum": torch.zeros(())})
    with pytest.raises(AssertionError):
        compiled(torch.ones(4), {"sum": torch.zeros(3)})
