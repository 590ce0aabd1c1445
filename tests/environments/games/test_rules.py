"""The rules of the games, step by step, in situations that are set up and worked out by hand."""

import numpy as np
import pytest

from plasticity_lab.environments.games.board import DOWN, FIRE, LEFT, NOTHING, RIGHT, UP
from plasticity_lab.environments.games.bricks import Bricks
from plasticity_lab.environments.games.crossing import Crossing
from plasticity_lab.environments.games.gathering import Gathering
from plasticity_lab.environments.games.invaders import Invaders
from plasticity_lab.randomness.host import host_stream


def begun(kind, **fields):
    """One game without sticky actions, that stands as it begins but for these fields."""
    board = kind(1, sticky=0, full=True, padded=7)
    board.start(np.array([0]), [host_stream(0, "a test")])
    for name, value in fields.items():
        board.now[name][0] = value
    return board


def played(board, *actions):
    """Rewards and whether it is lost, step by step."""
    outcomes = [board.step(np.array([action])) for action in actions]
    return [float(rewards[0]) for _, rewards, _ in outcomes], [bool(lost[0]) for _, _, lost in outcomes]


def ball(board):
    return tuple(int(board.now[name][0]) for name in ("row", "column", "down", "right"))


def bricks(**fields):
    return begun(Bricks, **fields)


def test_the_ball_begins_at_a_side_and_turns_around_there():
    board = bricks(column=9, right=1, row=4, down=1)
    played(board, NOTHING)
    assert ball(board) == (5, 9, 1, -1)
    played(board, NOTHING)
    assert ball(board) == (6, 8, 1, -1)


def test_it_turns_around_at_the_top():
    board = bricks(row=0, column=5, down=-1, right=1, bricks=False)
    played(board, NOTHING)
    assert ball(board) == (0, 6, 1, 1)


def test_a_brick_is_taken_and_turns_it_and_one_right_behind_only_turns_it():
    board = bricks(row=4, column=5, down=-1, right=1)
    rewards, _ = played(board, NOTHING)
    assert (rewards, ball(board)) == ([1.0], (4, 6, 1, 1))
    assert not board.now["bricks"][0, 3, 6]
    assert board.now["bricks"].sum() == 29
    board = bricks(row=4, column=5, down=-1, right=1, struck=True)
    rewards, _ = played(board, NOTHING)
    assert (rewards, ball(board), board.now["bricks"].sum()) == ([0.0], (4, 6, 1, 1), 30)


def test_the_paddle_turns_it_straight_below_it_and_aside_where_it_was_going():
    board = bricks(row=8, column=4, down=1, right=1, paddle=4)
    assert played(board, NOTHING)[1] == [False]
    assert ball(board) == (8, 5, -1, 1)
    board = bricks(row=8, column=4, down=1, right=1, paddle=4)
    assert played(board, RIGHT)[1] == [False]
    assert ball(board) == (8, 5, -1, -1)
    board = bricks(row=8, column=4, down=1, right=1, paddle=4)
    assert played(board, LEFT)[1] == [True]


def test_a_new_wall_stands_as_soon_as_the_ball_is_at_the_bottom():
    board = bricks(row=8, column=4, down=1, right=1, paddle=4, bricks=False)
    played(board, NOTHING)
    assert board.now["bricks"][0, 1:4].all()
    assert board.now["bricks"].sum() == 30


def test_the_paddle_stays_on_the_board():
    board = bricks(paddle=0, row=4, down=-1)
    played(board, LEFT)
    assert board.now["paddle"] == 0


def invaders(**fields):
    return begun(Invaders, **fields)


def test_a_shot_takes_an_alien_and_the_cannon_loads_for_five_steps_after_it():
    """From the bottom a shot reaches row 3, the block's lowest, in its sixth step."""
    board = invaders(cannon=5, until_move=50, until_shot=50)
    rewards, lost = played(board, FIRE, *[FIRE] * 5, FIRE)
    assert rewards == [0.0] * 5 + [1.0, 0.0]
    assert not any(lost)
    assert not board.now["aliens"][0, 3, 5]
    assert board.now["own"].sum() == 1, "the five after the first were not loaded, the last is on its way"
    assert board.now["own"][0, 8, 5]


def test_the_block_moves_aside_and_down_at_a_side():
    board = invaders(right=1, until_move=0, until_shot=50)
    played(board, NOTHING)
    assert board.now["aliens"][0, 0:4, 3:9].all()
    assert board.now["until_move"] == 12
    aliens = np.zeros((10, 10), bool)
    aliens[2, 9] = True
    board = invaders(right=1, until_move=0, until_shot=50, aliens=aliens)
    played(board, NOTHING)
    assert board.now["aliens"][0, 3, 9]
    assert (board.now["right"], board.now["until_move"]) == (-1, 1), "one alien is left, so it moves soon"


@pytest.mark.parametrize(("row", "column", "right"), [(9, 9, 1), (8, 9, 1)])
def test_an_alien_below_the_bottom_or_on_the_cannon_loses(row, column, right):
    aliens = np.zeros((10, 10), bool)
    aliens[row, column] = True
    board = invaders(right=right, until_move=0, until_shot=50, aliens=aliens, cannon=9 if row == 8 else 0)
    assert played(board, NOTHING)[1] == [True]


def test_the_nearest_alien_shoots_and_its_shot_loses():
    aliens = np.zeros((10, 10), bool)
    aliens[[2, 6], [5, 7]] = True
    board = invaders(until_move=50, until_shot=0, aliens=aliens, cannon=6)
    played(board, NOTHING)
    assert np.argwhere(board.now["theirs"][0]).tolist() == [[2, 5]], "of two columns alike the left one"
    assert board.now["until_shot"] == 10
    board = invaders(until_move=50, until_shot=0, aliens=aliens, cannon=7)
    assert played(board, NOTHING, NOTHING, NOTHING, NOTHING)[1] == [False, False, False, True]
    board = invaders(until_move=50, until_shot=0, aliens=aliens, cannon=7)
    assert not any(played(board, NOTHING, NOTHING, RIGHT, NOTHING)[1])


@pytest.mark.parametrize(("ramping", "slowest"), [(True, 11), (False, 12)])
def test_the_next_block_comes_and_is_faster(ramping, slowest):
    aliens, own = np.zeros((10, 10), bool), np.zeros((10, 10), bool)
    aliens[3, 5] = own[4, 5] = True
    board = invaders(until_move=50, until_shot=50, aliens=aliens, own=own)
    board.ramping = ramping
    assert played(board, NOTHING)[0] == [1.0]
    assert board.now["aliens"].sum() == 24
    assert board.now["slowest"] == slowest


def crossing(**fields):
    """Cars stand still, far from the walker, unless fields say otherwise."""
    return begun(Crossing, **({"columns": 0, "right": 1, "every": 5, "until_move": 50} | fields))


def test_the_walker_moves_at_most_every_third_step():
    board = crossing(walker=9)
    places = []
    for _ in range(7):
        played(board, UP)
        places.append(int(board.now["walker"][0]))
    assert places == [8, 8, 8, 7, 7, 7, 6]
    played(board, NOTHING, NOTHING, DOWN)
    assert board.now["walker"] == 7


def test_a_car_sends_the_walker_back_whoever_moves():
    columns = np.zeros(8, int)
    columns[7] = 4  # the lane of row 8
    board = crossing(walker=9, columns=columns)
    played(board, UP)
    assert board.now["walker"] == 9
    columns[7] = 3
    until = np.full(8, 50)
    until[7] = 0
    board = crossing(walker=8, columns=columns, until_move=until)
    played(board, NOTHING)
    assert board.now["walker"] == 9
    assert board.now["columns"][0, 7] == 4


def test_a_car_comes_back_on_the_other_side():
    until = np.full(8, 50)
    until[0] = 0
    board = crossing(columns=9, until_move=until, walker=9)
    played(board, NOTHING)
    assert (board.now["columns"][0, 0], board.now["until_move"][0, 0]) == (0, 4)


def test_who_has_crossed_is_back_and_all_cars_are_new():
    board = crossing(walker=1)
    rewards, lost = played(board, UP)
    assert (rewards, lost, board.now["walker"], board.now["crossed"]) == ([1.0], [False], 9, 1)
    assert (board.now["until_move"] < 50).all()
    assert (board.now["every"] <= 4).all(), "after a crossing the slowest moves every four steps"


def gathering(**fields):
    return begun(Gathering, **({"until_spawn": 50, "until_move": 50} | fields))


def with_thing(lane: int, column: int, gold: bool, right: int = 1, **fields):
    there, golds, columns, rights = np.zeros(8, bool), np.zeros(8, bool), np.zeros(8, int), np.ones(8, int)
    there[lane], golds[lane], columns[lane], rights[lane] = True, gold, column, right
    return gathering(there=there, gold=golds, columns=columns, right=rights, **fields)


def test_gold_is_picked_up_and_an_enemy_loses():
    """The gatherer stands in row 5, which is lane 4, in column 5."""
    board = with_thing(4, 6, gold=True)
    assert played(board, RIGHT, RIGHT) == ([1.0, 0.0], [False, False])
    assert not board.now["there"].any()
    assert played(with_thing(4, 6, gold=False), RIGHT)[1] == [True]


def test_things_move_and_are_gone_at_the_other_side():
    board = with_thing(4, 4, gold=False, until_move=0)
    assert played(board, NOTHING)[1] == [True], "it moves onto the gatherer"
    board = with_thing(0, 9, gold=False, until_move=0)
    played(board, NOTHING)
    assert not board.now["there"].any()
    assert board.now["until_move"] == 4


def test_the_gatherer_stays_in_the_rows_of_things():
    board = gathering(row=1)
    played(board, UP)
    assert board.now["row"] == 1
    board = gathering(row=8)
    played(board, DOWN, LEFT, LEFT)
    assert (board.now["row"], board.now["column"]) == (8, 3)


def test_a_thing_comes_in_at_a_side_in_a_free_row():
    there = np.ones(8, bool)
    there[6] = False
    board = gathering(there=there, gold=True, columns=3, until_spawn=0, row=1, column=9)
    played(board, NOTHING)
    assert board.now["there"].all()
    assert board.now["columns"][0, 6] in (0, 9)
    assert board.now["right"][0, 6] == (1 if board.now["columns"][0, 6] == 0 else -1)
    assert board.now["until_spawn"] == 9


def test_things_come_and_move_sooner_with_the_levels():
    board = gathering(steps=400, until_spawn=0, until_move=0)
    played(board, NOTHING)
    assert (board.now["until_spawn"], board.now["until_move"]) == (5, 2)
    board = gathering(steps=5000, until_spawn=0, until_move=0)
    board.ramping = False
    played(board, NOTHING)
    assert (board.now["until_spawn"], board.now["until_move"]) == (9, 4)
