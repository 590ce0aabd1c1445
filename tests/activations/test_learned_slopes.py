import numpy as np
import pytest
import torch

from plasticity_lab.activations.activation import Site
from plasticity_lab.activations.prelu import BoundedPReLU, PReLU
from plasticity_lab.errors import ConfigError


@pytest.mark.parametrize(("scope", "size", "shared"), [("global", 1, True), ("layer", 1, False), ("neuron", 7, False)])
@pytest.mark.parametrize("kind", [PReLU, BoundedPReLU])
def test_scope_says_who_shares_a_slope(kind, scope, size, shared):
    (value,) = kind(scope=scope).learnable(7).values()
    assert len(value.start) == size
    assert value.shared == shared


def test_prelu_learns_from_what_is_below_zero():
    x = torch.tensor([[[-2.0, 1.0], [-3.0, -1.0]]])
    site = {"slope": torch.tensor([[0.25, 0.5]])}
    activation = PReLU(scope="neuron")
    assert torch.equal(activation(x, Site({}, site)), torch.tensor([[[-0.5, 1.0], [-0.75, -0.5]]]))
    by_slope = torch.func.grad(lambda learned: activation(x, Site({}, learned)).sum())(site)
    assert torch.equal(by_slope["slope"], torch.tensor([[-5.0, -1.0]]))


@pytest.mark.parametrize(("start", "low", "high"), [(0.25, 0.01, 1.0), (0.75, 0.5, 1.0), (0.65, 0.3, 1.0)])
def test_bounded_prelu_starts_at_its_slope_and_never_leaves_its_bounds(start, low, high, applied):
    activation = BoundedPReLU("layer", start, low, high)
    assert applied(activation, [-1.0])[1].item() == pytest.approx(start, abs=1e-12)
    x, shape = -torch.ones(1, 1, 1), {"alpha_min": torch.tensor([low]), "alpha_max": torch.tensor([high])}
    for raw, bound in ((-500.0, low), (500.0, high)):
        site = Site(shape, {"raw": torch.tensor([[raw]])})
        assert -activation(x, site).item() == pytest.approx(bound, rel=1e-6)
    by_raw = torch.func.grad(lambda raw: activation(x, Site(shape, {"raw": raw})).sum())(torch.tensor([[0.3]]))
    s = 1 / (1 + np.exp(-0.3))
    assert by_raw.item() == pytest.approx(-(high - low) * s * (1 - s), rel=1e-5)


@pytest.mark.parametrize("start", [0.3, 1.0, 0.2, 1.4])
def test_bounded_prelu_must_start_between_its_bounds(start):
    with pytest.raises(ConfigError, match=r"alpha_init.*strictly between"):
        BoundedPReLU("layer", start, 0.3, 1.0)
