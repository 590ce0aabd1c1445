"""The dimensions of a tensor, followed through reshapes: the values of each example and unit stay together."""

import pytest
import torch

from plasticity_lab.outside.layout import EXAMPLES, OTHER, UNITS, arranged, fresh, permuted, reshaped

START = (fresh(EXAMPLES, 3), fresh(UNITS, 4), fresh(OTHER, 6), fresh(OTHER, 10))
WAYS = {
    "tokens": [(3, 4, 60), (0, 2, 1)],
    "rows": [(0, 2, 3, 1), (180, 4)],
    "heads": [(0, 2, 3, 1), (3, 60, 2, 2), (0, 2, 1, 3), (3, 2, 120)],
    "windows": [(3, 4, 2, 3, 5, 2), (0, 2, 4, 3, 5, 1), (30, 6, 4)],
    "windows after others": [(3, 4, 60), (3, 4, 4, 15), (3, 16, 15), (0, 2, 1)],
    "other windows of the same positions": [(3, 4, 2, 3, 10), (3, 4, 6, 10), (3, 4, 3, 2, 10), (0, 3, 4, 1, 2)],
}
"""Name → reshapes (shapes of 180 · 4 numbers) and permutations."""


@pytest.mark.parametrize("name", WAYS)
def test_examples_and_units_are_found_again(name):
    value, layout = torch.arange(720).reshape(3, 4, 6, 10), START
    expected = value.flatten(2)
    for step in WAYS[name]:
        if sorted(step) == [*range(len(step))]:
            value, layout = value.permute(step), permuted(layout, step)
        else:
            value, layout = value.reshape(step), reshaped(layout, step)
            assert layout is not None
    found = arranged(value, layout, 3)
    assert found.shape == (3, 4, 60)
    assert torch.equal(found.sort(dim=2).values, expected)


def test_a_reshape_across_examples_or_units_is_not_known():
    assert reshaped(START, (4, 3, 60)) is None
    assert reshaped(START, (3, 6, 4, 10)) is None
    assert reshaped(START, (3, 4, 6)) is None
