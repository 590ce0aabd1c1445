"""Crossing, played by hand: positions and rewards were worked out on paper from the rules."""

import numpy as np
import pytest

from tests.helpers.boards import after, one, where

LANES = range(1, 9)
PARKED = {"every": 5, "until_move": 1_000, "columns": 0, "right": 1}
"""Cars that do not move, and not in the walker's column."""


def test_the_walker_goes_a_row_each_third_step_and_reaching_the_far_side_is_worth_one():
    board, rows, rewards = one("crossing", **PARKED), [], []
    for _ in range(25):
        reward, lost = after(board, "up")
        assert not lost
        rows.append(where(board, "walker")[0][0])
        rewards.append(reward)
    assert rows == [8] * 3 + [7] * 3 + [6] * 3 + [5] * 3 + [4] * 3 + [3] * 3 + [2] * 3 + [1] * 3 + [9]
    assert rewards == [0] * 24 + [1]
    assert board.now["crossed"][0] == 1


def test_the_walker_goes_down_again_and_not_below_the_bottom():
    board = one("crossing", walker=7, **PARKED)
    rows = [where(board, "walker")[0][0] for _ in range(9) if after(board, "down")]
    assert rows == [8] * 3 + [9] * 6


def test_a_car_moves_by_a_column_every_so_many_steps_and_comes_back_on_the_other_side():
    for every in range(1, 6):
        for right, columns in ((1, [8, 9, 0]), (-1, [1, 0, 9])):
            board = one("crossing", every=every, until_move=every - 1, right=right, columns=columns[0])
            for column in columns:
                assert {at for _, at in where(board, "car")} == {column}
                assert where(board, f"trail of a car that moves every {every}") == [
                    (lane, (column - right) % 10) for lane in LANES
                ]
                for _ in range(every):
                    after(board)
            others = set(range(1, 6)) - {every}
            assert not any(where(board, f"trail of a car that moves every {other}") for other in others)


@pytest.mark.parametrize(
    ("action", "lane", "column", "drives"),
    [
        ("up", 5, 4, False),  # the walker steps onto a car
        ("up", 5, 4, True),  # which drives on in the same step: they have met
        ("nothing", 6, 3, True),  # a car drives onto the walker
    ],
)
def test_where_they_meet_the_walker_is_back_at_the_bottom_and_the_game_goes_on(action, lane, column, drives):
    columns, until = np.zeros(8, int), np.full(8, 1_000)
    columns[lane - 1], until[lane - 1] = column, 0 if drives else 1_000
    board = one("crossing", walker=6, **{**PARKED, "columns": columns, "until_move": until})
    assert after(board, action) == (0, False)
    assert where(board, "walker") == [(9, 4)]


@pytest.mark.parametrize(("ramping", "slowest"), [(True, [4, 3, 3, 3]), (False, [5, 5, 5, 5])])
def test_cars_have_new_speeds_after_a_crossing_and_faster_ones_where_it_becomes_harder(ramping, slowest):
    found = np.zeros(4, int)
    for seed in range(20):
        board = one("crossing", ramping, seed=seed)
        for crossing in range(4):
            board.now["walker"][0], board.now["until_step"][0] = 1, 0
            assert after(board, "up") == (1, False)
            found[crossing] = max(found[crossing], board.now["every"][0].max())
    assert found.tolist() == slowest


def test_all_speeds_and_both_directions_come():
    begun = [one("crossing", seed=seed).now for seed in range(20)]
    assert {int(every) for now in begun for every in now["every"][0]} == {1, 2, 3, 4, 5}
    for now in begun:
        assert np.array_equal(now["columns"][0], np.where(now["right"][0] > 0, 0, 9))
