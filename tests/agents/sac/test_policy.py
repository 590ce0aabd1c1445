"""The squashed Gaussian beside torch's distributions, and by hand."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import AffineTransform, TanhTransform

from plasticity_lab.agents.sac.policy import bounds_of, on_host, read, sampled, squashed_log_std
from plasticity_lab.environments.bodies import BODIES
from tests.helpers.packs import CPU

HUMANOID = BODIES["humanoid"]  # whose actions are within ±0.4
OUTPUTS = {
    "mean": torch.randn(2, 4, 17, generator=torch.Generator().manual_seed(0)),
    "log_std": torch.randn(2, 4, 17, generator=torch.Generator().manual_seed(1)),
}
NORMAL = torch.randn(2, 4, 17, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_actions_and_their_density_are_those_of_the_distribution(spread):
    """Where actions are far from their bounds, 1e-6 beside the slope is nothing; beside them it is the slope."""
    action, density = sampled(OUTPUTS, spread * NORMAL, bounds_of(HUMANOID, CPU))
    own = Normal(OUTPUTS["mean"], squashed_log_std(OUTPUTS["log_std"]).exp())
    before = own.mean + own.stddev * spread * NORMAL
    torch.testing.assert_close(action, 0.4 * torch.tanh(before))
    slope = 0.4 * (1 - torch.tanh(before) ** 2) + 1e-6
    torch.testing.assert_close(density, (own.log_prob(before) - slope.log()).sum(dim=-1), rtol=1e-5, atol=1e-4)
    if spread < 1:
        squashed = TransformedDistribution(own, [TanhTransform(), AffineTransform(0.0, 0.4)])
        assert action.abs().max() < 0.4
        torch.testing.assert_close(density, squashed.log_prob(action).sum(dim=-1), rtol=1e-3, atol=1e-2)


def test_deviations_lie_between_e_to_the_minus_5_and_e_squared():
    far = torch.tensor([-30.0, 0.0, 30.0])
    torch.testing.assert_close(squashed_log_std(far), torch.tensor([-5.0, -1.5, 2.0]))
    outputs = read({"mean": far, "log_std": far}, {})
    torch.testing.assert_close(outputs["deviation"], torch.tensor([-5.0, -1.5, 2.0]).exp())


def test_on_the_host_actions_are_the_same():
    numbers = np.linspace(-9, 9, 34, dtype=np.float32).reshape(2, 17)
    np.testing.assert_allclose(on_host(numbers, bounds_of(HUMANOID, CPU)), 0.4 * np.tanh(numbers), rtol=1e-6)
