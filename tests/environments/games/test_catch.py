"""Catch, held to bsuite's rules step by step, and to what its best policy earns."""

import numpy as np
import pytest

from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.environments import Environments
from plasticity_lab.environments.games.catch import catch
from plasticity_lab.randomness.host import host_stream

SEEDS = (0, 1, 7)


def cells(board):
    """Where ball and paddle are, (row, column) each, the ball first; one alone where the ball has been caught."""
    return [tuple(place) for place in np.argwhere(board[0])]


def best(observations):
    """Towards the ball's column."""
    boards = observations[:, :, -1]
    ball, paddle = boards[:, :, :-1].max(axis=2).argmax(axis=2), boards[:, :, -1].argmax(axis=2)
    return 1 + np.sign(ball - paddle)


class ByTheRules:
    """bsuite's game of one ball, cell by cell."""

    def __init__(self, column):
        self.ball, self.paddle = [0, column], 2

    def step(self, action):
        self.paddle = min(max(self.paddle + (-1, 0, 1)[action], 0), 4)
        self.ball[0] += 1
        ends = self.ball[0] == 9
        return (1.0 if self.paddle == self.ball[1] else -1.0) if ends else 0.0, ends

    def board(self):
        board = np.zeros((1, 10, 5), np.uint8)
        board[0, self.ball[0], self.ball[1]] = board[0, 9, self.paddle] = 255
        return board


def test_with_one_ball_it_is_bsuites_game():
    environments, rewards = Environments(catch(balls=1), SEEDS, 2, task=0), []
    games = None
    for step in range(54):
        if step % 9 == 0:
            games = [ByTheRules(cells(board)[0][1]) for run in environments.observations for board in run]
        assert np.array_equal(environments.observations.reshape(-1, 1, 10, 5), [game.board() for game in games])
        actions = np.array([host_stream(seed, "test", step).integers(3, size=2) for seed in SEEDS])
        outcome = environments.step(actions)
        found = [game.step(action) for game, action in zip(games, actions.flat, strict=True)]
        assert outcome.rewards.ravel().tolist() == [reward for reward, _ in found]
        assert outcome.terminated.ravel().tolist() == [ends for _, ends in found]
        assert np.array_equal(outcome.last.reshape(-1, 1, 10, 5), [game.board() for game in games])
        assert not outcome.truncated.any()
        rewards += [reward for reward, _ in found]
    assert {*rewards} == {-1.0, 0.0, 1.0}


def test_with_several_the_next_ball_stands_on_top_as_the_last_one_lands_and_the_paddle_stays():
    environments = Environments(catch(balls=3), SEEDS, 1, task=0)
    columns = environments.state()["simulation.columns"][:, 0]
    rewards = []
    for _ in range(9):
        outcome = environments.step(np.full((3, 1), 2))
        rewards.append(outcome.rewards[:, 0])
    assert (np.array(rewards)[:-1] == 0).all()
    assert rewards[-1].tolist() == np.where(columns[:, 0] == 4, 1.0, -1.0).tolist()
    assert not outcome.terminated.any()
    for run in range(3):
        assert cells(environments.observations[run, 0]) == [(0, columns[run, 1]), (9, 4)]


@pytest.mark.parametrize("balls", [1, 10])
def test_the_best_policy_earns_all_balls_and_one_that_stands_still_does_not(balls):
    environments = Environments(catch(balls), SEEDS, 4, task=1)
    returns = {"best": [], "still": []}
    for name, act in (("best", best), ("still", lambda shown: np.ones(shown.shape[:2], int))):
        for _ in range(3 * 9 * balls):
            outcome = environments.step(act(environments.observations))
            returns[name] += outcome.ended.returns.tolist()
            assert (outcome.ended.lengths == 9 * balls).all()
    assert returns["best"] == [balls] * 36
    assert np.mean(returns["still"]) < 0


def test_every_column_comes_and_an_episode_has_others_than_the_one_before():
    environments = Environments(catch(10), range(20), 1, task=0)
    first = environments.state()["simulation.columns"].copy()
    assert set(np.unique(first)) == {0, 1, 2, 3, 4}
    assert len(np.unique(first.reshape(20, 10), axis=0)) == 20
    for _ in range(90):
        environments.step(np.ones((20, 1), int))
    assert (environments.state()["simulation.columns"] != first).any(axis=(1, 2)).all()


def test_rendered_it_is_the_same_game_in_84_by_84_and_four_frames():
    drawn, board = Environments(BODIES["catch_84"], SEEDS, 1, 0), Environments(catch(), SEEDS, 1, 0)
    body = drawn.body
    assert (body.observation, body.frame, body.stack, body.dtype) == ((4, 84, 84), (1, 84, 84), 4, "uint8")
    state = {name: value for name, value in board.state().items() if name != "observations"}
    drawn.load(state | {"observations": drawn.observations})  # their balls are drawn under two names
    for step in range(30):
        actions = best(board.observations) if step % 3 else np.full((3, 1), step % 2)
        before = drawn.observations
        outcome, other = drawn.step(actions), board.step(actions)
        assert np.array_equal(outcome.rewards, other.rewards)
        # The middle of each cell's pixels shows it, and its pixels are as many as there are for a cell, all alike.
        middles = drawn.observations[:, :, -1][:, :, (np.arange(10) * 84 + 42) // 10][
            ..., (np.arange(5) * 84 + 42) // 5
        ]
        assert np.array_equal(middles, board.observations[:, :, 0])
        lit = (board.observations[:, :, 0] > 0).sum(axis=(2, 3))
        assert (drawn.observations[:, :, -1] > 0).mean(axis=(2, 3)) * 50 == pytest.approx(lit, abs=0.2)
        assert np.array_equal(drawn.observations[:, :, :3], before[:, :, 1:])
