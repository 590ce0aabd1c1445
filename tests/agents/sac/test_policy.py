"""The squashed Gaussian beside torch's distributions, and by hand."""

import numpy as np
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


def test_density_and_actions_are_those_of_the_distribution():
    action, density = sampled(OUTPUTS, NORMAL, bounds_of(HUMANOID, CPU))
    deviation = squashed_log_std(OUTPUTS["log_std"]).exp()
    squashed = TransformedDistribution(Normal(OUTPUTS["mean"], deviation), [TanhTransform(), AffineTransform(0.0, 0.4)])
    torch.testing.assert_close(action, 0.4 * torch.tanh(OUTPUTS["mean"] + deviation * NORMAL))
    near = (action.abs() < 0.39).all(dim=-1)  # where the 1e-6 beside the slope is nothing
    wanted = Normal(OUTPUTS["mean"], deviation).log_prob(OUTPUTS["mean"] + deviation * NORMAL)
    slope = 0.4 * (1 - torch.tanh(OUTPUTS["mean"] + deviation * NORMAL) ** 2) + 1e-6
    torch.testing.assert_close(density, (wanted - slope.log()).sum(dim=-1), rtol=1e-5, atol=1e-4)
    if near.any():
        torch.testing.assert_close(density[near], squashed.log_prob(action)[near].sum(dim=-1), rtol=1e-3, atol=1e-2)


def test_deviations_lie_between_e_to_the_minus_5_and_e_squared():
    far = torch.tensor([-30.0, 0.0, 30.0])
    torch.testing.assert_close(squashed_log_std(far), torch.tensor([-5.0, -1.5, 2.0]))
    outputs = read({"mean": far, "log_std": far}, {})
    torch.testing.assert_close(outputs["deviation"], torch.tensor([-5.0, -1.5, 2.0]).exp())


def test_on_the_host_actions_are_the_same():
    numbers = np.linspace(-9, 9, 34, dtype=np.float32).reshape(2, 17)
    np.testing.assert_allclose(on_host(numbers, bounds_of(HUMANOID, CPU)), 0.4 * np.tanh(numbers), rtol=1e-6)
