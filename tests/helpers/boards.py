"""Games on boards as tests play them by hand: one game, its fields set, nothing sticking."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plasticity_lab.environments.games.board import ACTIONS, Board
from plasticity_lab.environments.games.games import GAMES
from plasticity_lab.randomness.host import host_stream


def one(name: str, ramping: bool = True, seed: int = 0, **fields: Any) -> Board:
    """A game that has begun, with all six actions and its own channels; fields: how it stands otherwise."""
    board = GAMES[name](1, full=True, padded=len(GAMES[name].channels), sticky=0, ramping=ramping)
    board.start(np.arange(1), [host_stream(seed, "a test")])
    for field, value in fields.items():
        assert field in board.now
        board.now[field][0] = value
    return board


def after(board: Board, action: str = "nothing") -> tuple[float, bool]:
    """Plays an action: its reward, and whether the game is lost."""
    _, rewards, lost = board.step(np.array([ACTIONS.index(action)]))
    return float(rewards[0]), bool(lost[0])


def where(board: Board, thing: str) -> list[tuple[int, int]]:
    """The cells (row, column) in which the channel of that name shows something."""
    shown = np.zeros((1, len(board.channels), 10, 10), np.bool_)
    board.draw(shown)
    return [(int(row), int(column)) for row, column in np.argwhere(shown[0, list(board.channels).index(thing)])]


def cells(*places: Sequence[int]) -> np.ndarray:
    """A board (10, 10) on which something is at these places (row, column)."""
    found = np.zeros((10, 10), np.bool_)
    for row, column in places:
        found[row, column] = True
    return found
