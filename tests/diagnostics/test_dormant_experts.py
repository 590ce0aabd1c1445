"""Dormant units by expert, by hand."""

import pytest
import torch

from plasticity_lab.diagnostics.dormant_experts import DormantExperts


def test_an_expert_is_a_layer_of_its_own():
    """Two experts of four units, two examples, two slots; sizes 4, 1, 0, 3 (mean 2) and 0.4, 0.1, 0, 0.3 (mean 0.2)."""
    rows = torch.tensor([[4.0, -1.0, 0.0, 3.0], [0.4, 0.1, 0.0, -0.3]])
    own = rows[None, :, None].expand(2, 2, 2, 4).clone()
    own[0, 0, 0, 0], own[1, 0, 1, 0] = -8.0, 0.0  # over examples and slots the mean is 4 still
    assert DormantExperts(tau=0.49)._shares(own).tolist() == [1 / 4, 1 / 4]
    assert DormantExperts(tau=0.51)._shares(own).tolist() == [2 / 4, 2 / 4]
    assert DormantExperts(tau=0.0)._shares(own).tolist() == [1 / 4, 1 / 4]
    assert DormantExperts()._shares(torch.zeros(3, 2, 1, 4)).tolist() == pytest.approx([1, 1])
