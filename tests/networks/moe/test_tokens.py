"""Tokens of feature maps by index arithmetic, and the order of what is shuffled."""

import pytest
import torch

from plasticity_lab.networks.tokenization import Tokens, shuffled_order

MAPS = torch.arange(2 * 3 * 2 * 5 * 5, dtype=torch.float32).view(2, 3, 2, 5, 5)


def test_a_token_for_each_place_has_its_channels():
    tokens = Tokens().of(MAPS)
    assert tokens.shape == (2, 3, 25, 2) == (2, 3, *Tokens().shape((2, 5, 5)))
    assert all(
        tokens[k, b, 5 * row + column, channel] == MAPS[k, b, channel, row, column]
        for k, b, channel, row, column in ((0, 0, 0, 0, 1), (1, 2, 1, 3, 4), (0, 1, 1, 4, 0))
    )


def test_a_token_for_each_channel_has_its_places():
    tokens = Tokens("per_feat").of(MAPS)
    assert tokens.shape == (2, 3, 2, 25) == (2, 3, *Tokens("per_feat").shape((2, 5, 5)))
    assert tokens[1, 2, 1, 5 * 3 + 4] == MAPS[1, 2, 1, 3, 4]


def test_patches_are_means_and_leave_out_what_fills_none():
    tokens = Tokens("per_patch", 2).of(MAPS)
    assert tokens.shape == (2, 3, 4, 2) == (2, 3, *Tokens("per_patch", 2).shape((2, 5, 5)))
    torch.testing.assert_close(tokens[1, 0, 3, 1], MAPS[1, 0, 1, 2:4, 2:4].mean())
    assert Tokens("per_patch", 3).shape((32, 11, 11)) == (9, 32)
    assert Tokens("per_learned_patch", 3).shape((32, 11, 11)) == (9, 64)


def test_the_whole_map_is_one_token_place_by_place():
    token = Tokens("per_sample").of(MAPS)
    assert token.shape == (2, 3, 1, 50) == (2, 3, *Tokens("per_sample").shape((2, 5, 5)))
    assert token[1, 2, 0, 2 * (5 * 3 + 4) + 1] == MAPS[1, 2, 1, 3, 4]


def test_shuffled_numbers_change_places_and_channels_by_one_order():
    tokens, order = Tokens("shuffled").of(MAPS), shuffled_order(50)
    assert sorted(order.tolist()) == list(range(50))
    by_place = MAPS[1, 2].movedim(0, 2).flatten()
    assert torch.equal(tokens[1, 2].flatten(), by_place[order])
    moved = {int(value) // 25 % 2 for value in tokens[0, 0, :, 0]}
    assert moved == {0, 1}, "numbers of both channels stand where the first one's stood"
    assert torch.equal(order, shuffled_order(50))


def test_shuffled_numbers_are_the_same_in_one_graph():
    """Twice in one function, as networks and their targets are; what draws the order cannot be compiled."""

    def both(maps):
        return Tokens("shuffled").of(maps) + Tokens("shuffled").of(2 * maps)

    assert torch.equal(torch.compile(both, fullgraph=True, backend="eager")(MAPS), both(MAPS))


@pytest.mark.parametrize("kind", ["per_conv", "per_feat", "per_patch", "per_sample", "shuffled"])
def test_they_do_not_depend_on_the_pack(kind):
    assert torch.equal(Tokens(kind, 2).of(MAPS)[1:], Tokens(kind, 2).of(MAPS[1:]))
