"""Bricks, played by hand: positions, rewards and ends were worked out on paper from the rules."""

import numpy as np
import pytest

from tests.helpers.boards import after, cells, one, where

WALL = [(row, column) for row in (1, 2, 3) for column in range(10)]


def test_a_whole_rally():
    """From the left, down and to the right, to the paddle, to the right side, to a brick, and to the paddle again."""
    board = one("bricks", column=0, was_column=0, right=1)
    assert (where(board, "paddle"), where(board, "ball"), where(board, "brick")) == ([(9, 4)], [(3, 0)], WALL)
    played = [
        *[("nothing", place, 0) for place in ((4, 1), (5, 2), (6, 3), (7, 4), (8, 5))],
        ("right", (8, 6), 0),  # the paddle is below it, at 5: straight back up, further to the right
        *[("nothing", place, 0) for place in ((7, 7), (6, 8), (5, 9))],
        ("nothing", (4, 9), 0),  # turned at the right side
        ("nothing", (4, 8), 1),  # the brick (3, 8), which it does not enter
        ("nothing", (5, 7), 0),
        ("nothing", (6, 6), 0),
        ("left", (7, 5), 0),
        ("left", (8, 4), 0),
        ("nothing", (8, 3), 0),  # the paddle at 3 is not below it but where it was going: back to the right
        ("nothing", (7, 4), 0),
    ]
    before = (3, 0)
    for action, place, reward in played:
        assert after(board, action) == (reward, False)
        assert where(board, "ball") == [place]
        assert where(board, "trail") == [before]
        before = place
    assert where(board, "brick") == [place for place in WALL if place != (3, 8)]


@pytest.mark.parametrize("paddle", [0, 1, 4, 7, 9])
def test_a_ball_that_comes_down_elsewhere_is_lost(paddle):
    """From (8, 5) to (9, 6): the paddle turns it from 5 and from 6 alone."""
    at = {"row": 8, "column": 5, "down": 1, "right": 1}
    assert after(one("bricks", paddle=paddle, **at)) == (0, True)
    assert after(one("bricks", paddle=5, **at)) == after(one("bricks", paddle=6, **at)) == (0, False)


def test_a_brick_right_behind_a_struck_one_only_turns_the_ball():
    """Between two rows: the brick above is taken, the one below stays and turns it, and the next above is taken."""
    bricks = cells((3, 4), (5, 5), (3, 6))
    board = one("bricks", row=4, column=3, down=-1, right=1, bricks=bricks)
    found = [(after(board)[0], where(board, "ball")) for _ in range(3)]
    assert found == [(1, [(4, 4)]), (0, [(4, 5)]), (0, [(4, 6)])]
    assert where(board, "brick") == [(3, 6), (5, 5)]
    board = one("bricks", row=4, column=3, down=-1, right=1, bricks=cells((3, 4), (3, 6)))
    assert [after(board)[0] for _ in range(2)] == [1, 0]
    assert (board.now["down"][0], where(board, "ball")) == (1, [(5, 5)])


def test_the_top_turns_it_and_a_corner_along_both_axes():
    for column, right, place in ((2, -1, (0, 1)), (9, 1, (0, 9))):
        board = one("bricks", row=0, column=column, down=-1, right=right, bricks=cells())
        assert after(board) == (0, False)
        assert (where(board, "ball"), board.now["down"][0], board.now["right"][0]) == ([place], 1, -1)
    after(board)
    assert where(board, "ball") == [(1, 8)]


def test_a_cleared_wall_comes_back_when_the_ball_is_at_the_bottom():
    board = one("bricks", row=4, column=3, down=-1, right=1, paddle=8, bricks=cells((3, 4)))
    assert after(board) == (1, False)
    for _ in range(4):
        assert after(board) == (0, False)
        assert where(board, "brick") == []
    assert after(board) == (0, False)  # (8, 8) → (9, 9): the paddle at 8 is below it
    assert where(board, "brick") == WALL


def test_the_paddle_stays_on_the_board():
    for action, at in (("left", 0), ("right", 9)):
        board = one("bricks", paddle=at, row=4, column=0, down=-1)
        after(board, action)
        assert where(board, "paddle") == [(9, at)]


def test_it_begins_at_either_side():
    begun = {tuple(np.ravel([one("bricks", seed=seed).now[name] for name in ("column", "right")])) for seed in range(9)}
    assert begun == {(0, 1), (9, -1)}
