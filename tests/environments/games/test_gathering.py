"""Gathering, played by hand: positions, rewards and ends were worked out on paper from the rules."""

import numpy as np
import pytest

from tests.helpers.boards import after, one, where

NEVER = {"until_spawn": 10_000, "until_move": 10_000}


def things(**rows):
    """Fields of things in lanes: r3=("gold", column, right)."""
    found = {name: np.zeros(8, int) for name in ("columns", "right", "there", "gold")}
    for row, (kind, column, right) in rows.items():
        lane = int(row[1:]) - 1
        for name, value in zip(found, (column, right, 1, kind == "gold"), strict=True):
            found[name][lane] = value
    return found


def test_the_gatherer_moves_by_a_cell_within_its_rows():
    board = one("gathering", **NEVER)
    assert where(board, "gatherer") == [(5, 5)]
    for action, place in (("up", (4, 5)), ("left", (4, 4)), ("down", (5, 4)), ("right", (5, 5)), ("fire", (5, 5))):
        after(board, action)
        assert where(board, "gatherer") == [place]
    for action, at, place in (
        ("up", (1, 0), (1, 0)),
        ("left", (1, 0), (1, 0)),
        ("down", (8, 9), (8, 9)),
        ("right", (8, 9), (8, 9)),
    ):
        board = one("gathering", row=at[0], column=at[1], **NEVER)
        after(board, action)
        assert where(board, "gatherer") == [place]


@pytest.mark.parametrize(("kind", "reward", "lost"), [("gold", 1, False), ("enemy", 0, True)])
@pytest.mark.parametrize("comes", ["gatherer", "thing"])
def test_meeting_gold_is_worth_one_and_meeting_an_enemy_ends_the_game(kind, reward, lost, comes):
    board = one("gathering", **{**NEVER, "until_move": 0 if comes == "thing" else 9}, **things(r5=(kind, 4, 1)))
    assert where(board, kind) == [(5, 4)]
    assert after(board, "left" if comes == "gatherer" else "nothing") == (reward, lost)
    assert where(board, kind) == ([] if kind == "gold" else [(5, 4 if comes == "gatherer" else 5)])
    if kind == "gold":
        assert after(board) == (0, False), "it is picked up once"


def test_they_pass_each_other_in_one_row_where_both_move():
    """The gatherer moves first: from 5 to 4, where the enemy is, so that they meet; a step later they would not."""
    assert after(one("gathering", **{**NEVER, "until_move": 0}, **things(r5=("enemy", 4, 1))), "left") == (0, True)
    assert after(one("gathering", **{**NEVER, "until_move": 0}, **things(r5=("enemy", 4, 1))), "up") == (0, False)


def test_things_move_each_fifth_step_show_where_they_were_and_are_gone_beyond_the_side():
    board = one("gathering", until_spawn=10_000, row=8, **things(r2=("gold", 8, 1), r3=("enemy", 1, -1)))
    assert where(board, "trail") == [(2, 7), (3, 2)]
    seen = []
    for _ in range(10):
        after(board)
        seen.append((where(board, "gold"), where(board, "enemy"), where(board, "trail")))
    assert seen[:4] == [([(2, 8)], [(3, 1)], [(2, 7), (3, 2)])] * 4
    assert seen[4:9] == [([(2, 9)], [(3, 0)], [(2, 8), (3, 1)])] * 5
    assert seen[9] == ([], [], [])


def test_each_tenth_step_one_comes_in_at_a_side_and_moves_with_the_others():
    board = one("gathering", ramping=False, row=1, until_move=10_000)
    counts = []
    for _ in range(30):
        after(board)
        counts.append(len(where(board, "gold")) + len(where(board, "enemy")))
    assert counts == [0] * 9 + [1] * 10 + [2] * 10 + [3]
    assert {column for _, column in where(board, "gold") + where(board, "enemy")} <= {0, 9}
    assert len({row for row, _ in where(board, "gold") + where(board, "enemy")}) == 3, "one in each row"


def test_where_all_rows_are_full_none_comes():
    full = things(**{f"r{row}": ("gold", 3, 1) for row in range(1, 9)})
    board = one("gathering", until_spawn=0, until_move=10_000, **full)
    after(board)
    assert where(board, "gold") == [(row, 3) for row in range(1, 9)]


def test_a_third_of_what_comes_is_gold_from_either_side_in_any_row():
    """600 things of 300 games: 3.5 standard deviations of a third are 0.067, of a half 0.071."""
    came = []
    for seed in range(300):
        board = one("gathering", seed=seed, until_spawn=0, until_move=10_000, row=1, column=5)
        after(board)
        board.now["until_spawn"][0] = 0
        after(board)
        there = board.now["there"][0]
        came += [
            (lane, bool(board.now["gold"][0, lane]), int(board.now["right"][0, lane])) for lane in np.flatnonzero(there)
        ]
    lanes, gold, right = (np.array(each) for each in zip(*came, strict=True))
    assert len(came) == 600
    assert gold.mean() == pytest.approx(1 / 3, abs=0.067)
    assert (right > 0).mean() == pytest.approx(0.5, abs=0.071)
    assert np.bincount(lanes, minlength=8).min() > 600 / 8 * 0.6


@pytest.mark.parametrize(
    ("ramping", "steps", "spawning", "moving"),
    [(True, 99, 10, 5), (True, 100, 9, 5), (True, 200, 8, 4), (True, 5_000, 1, 1), (False, 5_000, 10, 5)],
)
def test_things_come_and_move_sooner_as_the_game_becomes_harder(ramping, steps, spawning, moving):
    board = one("gathering", ramping, steps=steps, until_spawn=0, until_move=0)
    after(board)
    assert (board.now["until_spawn"][0] + 1, board.now["until_move"][0] + 1) == (spawning, moving)
