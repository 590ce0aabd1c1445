"""The loss of PPO and its gradient, example by example, against numbers worked out by hand."""

from math import log
from types import SimpleNamespace

import pytest
import torch

from plasticity_lab.agents.ppo.step import loss_of

RATIOS = torch.tensor([1.5, 1.5, 0.5, 0.5])
ADVANTAGES = torch.tensor([2.0, -2.0, 2.0, -2.0])
POLICY_LOSS = {
    # −min(ratio · A, clipped ratio · A): ratios from 0.8 to 1.2, or from 0.4 to 1.6.
    0.2: [-2.4, 3.0, -1.0, 1.6],
    0.6: [-3.0, 3.0, -1.0, 1.0],
}
HALF, QUARTER = log(0.5), log(0.25)
ENTROPY = 1.5 * log(2)
"""Of ½, ¼, ¼: ½ ln 2 + 2 · ¼ ln 4."""


def lost(clip_value=False, clip=(0.2, 0.6), value_weight=(0.0, 0.0), entropy_weight=(0.0, 0.0), weight=None):
    """The loss of two runs with four examples each, whose action 0 of three had a probability of ½ / ratio, and now has
    ½; values are 1, 1, 2 and 0, were 0.5, 1.5, 2 and 0, and should be 3, 1.2, 2 and 1. And the outputs.
    """
    outputs = {
        "policy": torch.tensor([HALF, QUARTER, QUARTER]).expand(2, 4, 3).clone().requires_grad_(),
        "value": torch.tensor([1.0, 1.0, 2.0, 0.0]).view(1, 4, 1).expand(2, 4, 1).clone().requires_grad_(),
    }
    model = SimpleNamespace(forward=lambda parameters, shape, x, drawn, body, noise: (outputs, {}))
    settings = {"clip": clip, "value_weight": value_weight, "entropy_weight": entropy_weight}
    batch = {
        "x": torch.zeros(2, 4, 1),
        "action": torch.zeros(2, 4, dtype=torch.int64),
        "old": (HALF - RATIOS.log()).expand(2, 4),
        "advantage": ADVANTAGES.expand(2, 4),
        "value": torch.tensor([0.5, 1.5, 2.0, 0.0]).expand(2, 4),
        "target": torch.tensor([3.0, 1.2, 2.0, 1.0]).expand(2, 4),
        "weight": torch.full((4,), 0.25) if weight is None else torch.tensor(weight),
    }
    agent = {name: torch.tensor(values) for name, values in settings.items()}
    return loss_of(model, "body", clip_value)({}, {"activation": {}, "agent": agent}, batch), outputs


def test_the_worse_of_the_ratio_and_the_clipped_one_counts_each_run_with_its_own_clip():
    found, outputs = lost()
    for k, clip in enumerate((0.2, 0.6)):
        torch.testing.assert_close(found.measured["policy_loss"][k], torch.tensor(POLICY_LOSS[clip]))
        torch.testing.assert_close(found.total[k], torch.tensor(POLICY_LOSS[clip]) / 4)
    assert found.measured["clip_fraction"].tolist() == [[1, 1, 1, 1], [0, 0, 0, 0]]
    # ∂(−ratio · A)/∂ log p = −ratio · A, and ∂ log p / ∂ logit 0 = 1 − ½; nothing where the clipped one counts.
    found.total.sum().backward()
    unclipped = -RATIOS * ADVANTAGES * 0.5 / 4
    expected = torch.stack([unclipped * torch.tensor([0.0, 1.0, 1.0, 0.0]), unclipped])
    torch.testing.assert_close(outputs["policy"].grad[..., 0], expected)


def test_the_change_of_the_policy_is_measured_without_a_sign():
    """(ratio − 1) − ln ratio: 0.5 − 0.4055 and −0.5 + 0.6931."""
    found, _ = lost()
    expected = torch.tensor([0.0945349, 0.0945349, 0.1931472, 0.1931472]).expand(2, 4)
    torch.testing.assert_close(found.measured["approx_kl"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("clip_value", "losses", "slopes"),
    [
        # (v − target)²: 2², 0.2², 0², 1; its slope 2 (v − target).
        (False, [[4, 0.04, 0, 1]] * 2, [[-4, -0.4, 0, -2]] * 2),
        # Held to 0.5 + 0.2, and to 1.5 − 0.2: 2.3² and 0.1². The larger counts; what is held has no slope.
        (True, [[5.29, 0.04, 0, 1], [4, 0.04, 0, 1]], [[0, -0.4, 0, -2], [-4, -0.4, 0, -2]]),
    ],
)
def test_the_value_is_held_near_to_what_it_was_where_that_is_worse(clip_value, losses, slopes):
    found, outputs = lost(clip_value, value_weight=(1.0, 0.5))
    torch.testing.assert_close(found.measured["value_loss"], torch.tensor(losses, dtype=torch.float32))
    found.total.sum().backward()
    weighted = torch.tensor(slopes, dtype=torch.float32) * torch.tensor([[1.0], [0.5]]) / 4
    torch.testing.assert_close(outputs["value"].grad[..., 0], weighted)


def test_entropy_is_a_bonus_by_its_weight():
    found, outputs = lost(entropy_weight=(0.0, 2.0))
    torch.testing.assert_close(found.measured["entropy"], torch.full((2, 4), ENTROPY))
    policy = torch.tensor([POLICY_LOSS[0.2], POLICY_LOSS[0.6]])
    torch.testing.assert_close(found.total, (policy - torch.tensor([[0.0], [2 * ENTROPY]])) / 4)
    # ∂H/∂ logit a = −p (ln p + H): of ½ that is −½ (−1 + 1.5) ln 2. Of the policy's own loss see above.
    without, plain = lost()
    without.total.sum().backward()
    found.total.sum().backward()
    more = (outputs["policy"].grad - plain["policy"].grad)[..., 0]
    torch.testing.assert_close(more, torch.tensor([[0.0], [2 * 0.25 * log(2) / 4]]).expand(2, 4))


def test_a_row_that_only_fills_up_the_minibatch_weighs_nothing():
    found, outputs = lost(value_weight=(1.0, 1.0), entropy_weight=(1.0, 1.0), weight=[0.5, 0.5, 0.0, 0.0])
    assert not found.total[:, 2:].any()
    found.total.sum().backward()
    assert not any(value.grad[:, 2:].any() for value in outputs.values())
    assert found.weights.tolist() == [0.5, 0.5, 0, 0]


def test_of_a_gaussian_policy_probabilities_and_entropies_of_its_numbers_are_added_up():
    """Two numbers with mean 0 and deviations 1 and 2, action (1, 2): each a deviation away. Their densities are
    e^−½ / (√(2π) · deviation), their entropies ½ ln(2πe) + ln deviation.
    """
    outputs = {
        "policy": torch.zeros(1, 1, 2),
        "log_std": torch.tensor([[[0.0, log(2)]]]),
        "value": torch.zeros(1, 1, 1),
    }
    model = SimpleNamespace(forward=lambda *given: (outputs, {}))
    zero = torch.zeros(1, 1)
    batch = {"x": zero, "action": torch.tensor([[[1.0, 2.0]]]), "value": zero, "target": zero, "weight": torch.ones(1)}
    batch |= {"old": torch.tensor([[-1 - log(2) - log(2 * torch.pi)]]), "advantage": torch.ones(1, 1)}
    agent = {name: torch.tensor([0.2]) for name in ("clip", "value_weight", "entropy_weight")}
    found = loss_of(model, "body", False)({}, {"activation": {}, "agent": agent}, batch)
    assert float(found.measured["policy_loss"]) == pytest.approx(-1)  # a ratio of 1
    assert float(found.measured["entropy"]) == pytest.approx(1 + log(2 * torch.pi) + log(2), rel=1e-6)
