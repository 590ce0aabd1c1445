"""Routings against a slow, obvious implementation, and what holds of them whatever the numbers are."""

import numpy as np
import pytest
import torch

from plasticity_lab.networks.heads.routing import expert_choice, slots_of, soft, token_choice
from plasticity_lab.stacking.router import StackedRouter


def random_logits(tokens: int, slots: int) -> torch.Tensor:
    return torch.randn(2, 3, tokens, slots, generator=torch.Generator().manual_seed(tokens + slots))


def test_soft_routing_is_softmax_over_tokens_and_over_all_slots():
    logits = random_logits(8, 6)
    found = soft({}, logits, 7)
    for run in range(2):
        for example in range(3):
            own = logits[run, example]
            for slot in range(6):
                weights = own[:7, slot].exp() / own[:7, slot].exp().sum()
                torch.testing.assert_close(found.dispatch[run, example, slot, :7], weights)
            for token in range(7):
                torch.testing.assert_close(found.combine[run, example, token], own[token].softmax(0))
    assert not found.dispatch[..., 7].any()


def test_with_a_single_slot_every_token_gets_the_same():
    found = soft({}, random_logits(8, 1), 8)
    assert torch.equal(found.combine, torch.ones(2, 3, 8, 1))


def test_soft_routing_does_not_tell_tokens_apart():
    logits, order = random_logits(8, 4), torch.tensor([3, 0, 7, 1, 2, 6, 5, 4])
    one, other = soft({}, logits, 8), soft({}, logits[:, :, order], 8)
    torch.testing.assert_close(one.dispatch[..., order], other.dispatch)
    torch.testing.assert_close(one.combine[:, :, order], other.combine)


def test_experts_take_the_tokens_that_suit_them_best():
    """Two experts of two slots; shares worked out by hand from logits of ln 1, ln 3 and so on."""
    logits = torch.tensor([[3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [9.0, 1.0]]).log().view(1, 1, 4, 2)
    found = expert_choice(logits, 2, 4)
    taken = found.dispatch[0, 0].argmax(dim=1).tolist()
    assert taken == [3, 0, 2, 1]  # shares of the first: 0.9, 0.75; of the second: 0.75, 0.5
    assert found.dispatch.sum() == 4
    expected = torch.zeros(4, 4)
    expected[3, 0], expected[0, 1], expected[2, 2], expected[1, 3] = 0.9, 0.75, 0.75, 0.5
    torch.testing.assert_close(found.combine[0, 0], expected)


def test_one_expert_with_all_slots_takes_every_token_once_with_a_share_of_one():
    found = expert_choice(random_logits(8, 1), 8, 8)
    torch.testing.assert_close(found.combine @ found.dispatch, torch.eye(8).expand(2, 3, 8, 8))


def test_of_equal_scores_the_first_tokens_are_taken_and_padding_never():
    found = expert_choice(torch.zeros(1, 1, 8, 2), 3, 7)
    assert found.dispatch[0, 0].argmax(dim=1).tolist() == [0, 1, 2, 0, 1, 2]
    low = torch.full((1, 1, 8, 1), -1.0)
    low[..., 7, :] = 5.0
    assert not expert_choice(low, 7, 7).dispatch[..., 7].any()


def test_tokens_choose_one_expert_and_the_first_come_first():
    """Five tokens, two slots an expert: the third token that wants the first expert is left out."""
    wants = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 0.0], [0.0, 2.0]])
    logits = torch.zeros(1, 1, 8, 2)
    logits[0, 0, :5] = wants
    found = token_choice(logits, 2, 5)
    assert found.dispatch[0, 0].argmax(dim=1).tolist() == [0, 1, 2, 4]
    share = wants.softmax(1)[0, 0].item()
    sums = found.combine[0, 0].sum(dim=1)
    assert sums[[0, 1, 2, 4]].tolist() == pytest.approx([share] * 4)
    assert not sums[[3, 5, 6, 7]].any()


@pytest.mark.parametrize(
    ("asked", "tokens", "experts", "slots"),
    [(1.0, 121, 1, 121), (1.0, 121, 2, 61), (1.0, 121, 4, 31), (1.0, 121, 8, 16), (0.1, 121, 1, 13), (1, 121, 4, 1),
     ("tokens", 121, 4, 121), (1.0, 25, 4, 7), (2.0, 25, 1, 50)],
)  # fmt: skip
def test_slots_by_number_fraction_or_tokens(asked, tokens, experts, slots):
    assert slots_of(asked, tokens, experts) == slots


def test_a_router_multiplies_and_starts_by_the_number_of_experts():
    for experts, deviation in ((1, 0.178), (2, 0.126), (4, 0.0888), (8, 0.0626)):  # as flax has it for 32 numbers
        router = StackedRouter("router", 32, experts * 500, experts)
        start = router.start(np.random.default_rng(0), "xavier", 1.0)["router.weight"]
        assert start.std() == pytest.approx(deviation, rel=0.02)
    router = StackedRouter("router", 3, 5, normalised=True)
    own = {
        name: torch.tensor(value).unsqueeze(0) for name, value in router.start(np.random.default_rng(1), "", 1).items()
    }
    x = torch.randn(1, 2, 4, 3)
    own["router.scalar"] *= 3
    phi = own["router.weight"][0, :, :5]
    expected = x / (x.norm(dim=-1, keepdim=True) + 1e-6) @ (3 * phi / (phi.norm(dim=0) + 1e-6))
    torch.testing.assert_close(router(own, x), expected)


@pytest.mark.parametrize("shape", [(4, 8), (3, 6)], ids=["unpadded", "padded"])
def test_a_normalised_router_has_gradients_where_a_token_and_the_padding_are_zero(shape):
    router = StackedRouter("router", *shape, normalised=True)
    own = {
        name: torch.tensor(value).unsqueeze(0).requires_grad_()
        for name, value in router.start(np.random.default_rng(1), "", 1).items()
    }
    x = torch.randn(1, 4, 4, shape[0], generator=torch.Generator().manual_seed(0))
    x[0, 0, 1] = 0.0
    x.requires_grad_()
    logits = router(own, x)
    assert not logits[0, 0, 1].any()
    found = torch.autograd.grad(logits.square().sum(), [x, *own.values()])
    assert all(gradient.isfinite().all() for gradient in found)
    assert not found[1][..., shape[1] :].any()
