"""Invaders, played by hand: positions, rewards and ends were worked out on paper from the rules."""

import pytest

from tests.helpers.boards import after, cells, one, where

BLOCK = [(row, column) for row in range(4) for column in range(2, 8)]


def steps_until(board, changed, most=40):
    """The step in which something changes."""
    for step in range(1, most):
        after(board)
        if changed(board):
            return step
    raise AssertionError(f"not within {most} steps")


def test_a_shot_flies_up_and_takes_the_lowest_alien_of_its_column():
    board = one("invaders", right=1)
    assert (where(board, "cannon"), where(board, "alien")) == ([(9, 5)], BLOCK)
    assert after(board, "fire") == (0, False)
    for row in (8, 7, 6, 5):
        assert where(board, "own shot") == [(row, 5)]
        assert after(board) == (0, False)
    assert after(board) == (1, False)  # row 3 is the lowest of the block
    assert (where(board, "own shot"), where(board, "alien")) == ([], [place for place in BLOCK if place != (3, 5)])


def test_the_cannon_loads_for_five_steps():
    board, fired = one("invaders", until_move=100, until_shot=100), []
    for step in range(13):
        after(board, "fire")
        fired += [step] * ((8, 5) in where(board, "own shot"))
    assert fired == [0, 6, 12]


def test_the_block_rests_for_as_many_steps_as_there_are_aliens_and_at_most_twelve():
    whole = one("invaders", right=1)
    moves = []
    for step in range(1, 40):
        before = where(whole, "alien")
        after(whole)
        moves += [step] * (where(whole, "alien") != before)
    assert moves == [13, 26, 39]
    assert where(whole, "alien") == [(row + 1, column + 2) for row, column in BLOCK], (
        "twice aside, and down at the side"
    )
    few = one("invaders", right=1, until_move=0, aliens=cells((0, 2), (0, 3)), cannon=9)
    assert after(few) == (0, False)
    assert where(few, "alien") == [(0, 3), (0, 4)]
    assert steps_until(few, lambda board: where(board, "alien") == [(0, 4), (0, 5)]) == 3


def test_at_a_side_it_moves_down_and_turns_around():
    board = one("invaders", right=-1, until_move=0, aliens=cells((2, 0), (1, 4)))
    assert where(board, "aliens go left") == [(1, 4), (2, 0)]
    after(board)
    assert where(board, "alien") == where(board, "aliens go right") == [(2, 4), (3, 0)]
    assert where(board, "aliens go left") == []
    assert steps_until(board, lambda board: where(board, "alien") == [(2, 5), (3, 1)]) == 3


def test_the_nearest_alien_shoots_each_eleventh_step_and_the_shot_falls():
    board = one("invaders", right=1, cannon=9, until_move=100)
    assert steps_until(board, lambda board: where(board, "alien's shot")) == 11
    for row in range(3, 10):
        assert where(board, "alien's shot") == [(row, 7)], "column 7 is the nearest to 9, row 3 its lowest"
        assert after(board) == (0, False)
    assert where(board, "alien's shot") == []
    assert steps_until(board, lambda board: where(board, "alien's shot")) == 4  # 11 after the first


def test_a_shot_that_meets_the_cannon_ends_the_game_and_one_beside_it_does_not():
    for cannon, action, lost in ((5, "nothing", True), (4, "right", True), (5, "left", False), (6, "nothing", False)):
        assert after(one("invaders", cannon=cannon, theirs=cells((8, 5))), action) == (0, lost)


@pytest.mark.parametrize(
    ("aliens", "right", "lost"),
    [
        (((9, 3), (0, 5)), 1, False),  # beside the cannon
        (((9, 4), (0, 6)), 1, True),  # moves onto it
        (((9, 0), (0, 6)), -1, True),  # should move below the bottom
        (((8, 0), (0, 6)), -1, False),
    ],
)
def test_an_alien_at_the_bottom_ends_the_game_where_it_meets_the_cannon_or_goes_below(aliens, right, lost):
    assert after(one("invaders", cannon=5, aliens=cells(*aliens), right=right, until_move=0)) == (0, lost)


@pytest.mark.parametrize(("ramping", "slowest", "rests"), [(True, 12, 11), (True, 6, 6), (False, 12, 12)])
def test_the_next_block_comes_when_all_are_shot_and_is_faster_where_it_becomes_harder(ramping, slowest, rests):
    board = one(
        "invaders", ramping, slowest=slowest, right=1, cannon=0, until_move=0, until_shot=90,
        aliens=cells((4, 4)), own=cells((5, 5)),
    )  # fmt: skip
    assert after(board) == (1, False)  # it moves to (4, 5), into the shot
    assert where(board, "alien") == BLOCK
    # The alien that was left rested for one step before it would have moved again; then the block's own time counts.
    first = steps_until(board, lambda board: where(board, "alien") != BLOCK)
    moved = where(board, "alien")
    assert (first, steps_until(board, lambda board: where(board, "alien") != moved)) == (2, rests + 1)
