"""Losses that balance experts, by hand; their gradients; and that they are the network's own."""

from math import erf, log, sqrt

import pytest
import torch

from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.heads.routing import importance, load
from plasticity_lab.networks.heads.token_choice import TokenChoice
from plasticity_lab.stacking import elementary
from tests.helpers.packs import CPU
from tests.networks.moe.test_heads import IMAGE, model

SHARES = torch.tensor([[0.9, 0.1], [0.6, 0.4]]).log().view(1, 1, 2, 2)
"""Of two tokens: 1.5 and 0.5 in all, mean 1 and deviation 0.5."""


def test_importance_is_the_squared_variation_of_summed_shares():
    torch.testing.assert_close(importance(SHARES), torch.tensor([0.25]))
    assert float(importance(torch.zeros(1, 2, 5, 4))) == pytest.approx(0, abs=1e-12)
    both = torch.cat([SHARES, torch.zeros(1, 1, 2, 2)], dim=1)
    torch.testing.assert_close(importance(both), torch.tensor([0.125]), msg="a mean over examples")


def test_load_is_that_of_the_probability_of_being_chosen_with_noise_of_one_nth():
    below = [1 - 0.5 * (1 + erf(2 * log(ratio) / sqrt(2))) for ratio in (9.0, 1.5)]
    means = [0.5, sum(below) / 2]
    middle = sum(means) / 2
    expected = sum((each - middle) ** 2 for each in means) / 2 / middle**2
    torch.testing.assert_close(load(SHARES), torch.tensor([expected], dtype=torch.float32))


@pytest.mark.parametrize("loss", [importance, load])
def test_its_gradient_lowers_it(loss):
    logits = (torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(1)) * 0.3).requires_grad_()
    before = loss(logits)
    (gradient,) = torch.autograd.grad(before.sum(), logits)
    assert (loss(logits - 0.1 * gradient) < before).all()


def test_the_share_below_is_the_same_composed(monkeypatch):
    x = torch.linspace(-4, 4, 101).requires_grad_()
    plain = elementary.normal_distribution(x)
    (slope,) = torch.autograd.grad(plain.sum(), x)
    monkeypatch.setattr(elementary, "compiles_for_cpu", lambda x: True)
    composed = elementary.normal_distribution(x)
    torch.testing.assert_close(composed, plain, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(torch.autograd.grad(composed.sum(), x)[0], slope, atol=1e-6, rtol=1e-5)


def test_they_are_losses_of_the_network_with_their_weights():
    assert list(model(TokenChoice(2)).losses) == []
    built = model(TokenChoice(2, importance_loss=0.5, load_loss=2.0))
    parameters = built.start([3], CPU)
    outputs, beside = built.forward(parameters, {}, IMAGE, None)
    assert set(outputs) == {"q"}
    other = model(TokenChoice(2, importance_loss=1.0)).forward(parameters, {}, IMAGE, None)
    assert torch.equal(other[0]["q"], outputs["q"])
    by_name = {name: beside[name] for name in built.losses}
    assert len(by_name) == 2
    assert all(value.shape == (1,) and value > 0 for value in by_name.values())
    (first,) = (value for name, value in by_name.items() if "importance" in name)
    (alone,) = (value for name, value in other[1].items() if "importance" in name)
    torch.testing.assert_close(first, 0.5 * alone)


def test_one_expert_has_nothing_to_balance():
    with pytest.raises(ConfigError, match=r"head\.load_loss balances the load of several experts, and there is one"):
        TokenChoice(1, load_loss=1.0)
