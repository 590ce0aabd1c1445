"""Bricks: a paddle keeps a ball in play, and the ball removes bricks from a wall.

Legend: M games, E games that start an episode, C channels of a board.
"""

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.games.board import LEFT, NOTHING, RIGHT, SIDE, Bits, Board, Whole, limited, moved

WALL = slice(1, 4)
"""The rows of bricks at first."""
BOTTOM = SIDE - 1


class Bricks(Board):
    """A paddle of one cell in the bottom row, a ball that moves by a cell along both axes, three rows of bricks.

    The ball bounces off the sides and the top. If it would enter a brick, the brick is removed, with a reward of 1, and
    the ball turns back vertically without entering; a brick right behind that one only turns it. In the bottom row the
    paddle turns the ball: vertically if the ball comes down on the paddle, and also sideways if the paddle is at the
    cell that the ball would enter. Otherwise the game is lost. After the last brick, a new wall appears as soon as the
    ball is at the bottom. The ball begins at the left or the right, on its way down. Channels: paddle, ball, its last
    place, bricks. It has no levels.
    Source: in the manner of MinAtar's Breakout (Young & Tian 2019).
    """

    actions = (NOTHING, LEFT, RIGHT)
    channels = ("paddle", "ball", "trail", "brick")
    fields = {
        "paddle": ((), int),
        "row": ((), int),
        "column": ((), int),
        "down": ((), int),
        "right": ((), int),
        "was_row": ((), int),
        "was_column": ((), int),
        "struck": ((), bool),
        "bricks": ((SIDE, SIDE), bool),
    }

    def begin(self, games: Whole) -> None:
        """Places the ball at a side, in the lowest row of the wall; down and right are 1 or −1."""
        now, at_right = self.now, self.chance.integers(2, games)
        now["paddle"][games] = 4
        now["row"][games] = now["was_row"][games] = 3
        now["column"][games] = now["was_column"][games] = at_right * BOTTOM
        now["down"][games], now["right"][games] = 1, 1 - 2 * at_right
        wall = np.zeros((SIDE, SIDE), np.bool_)
        wall[WALL] = True
        now["bricks"][games] = wall

    def move(self, actions: Whole, rewards: NDArray[np.float64], lost: Bits) -> None:
        """The paddle, then the ball."""
        now, every = self.now, self.every
        now["paddle"] = paddle = moved(now["paddle"], actions, LEFT, RIGHT)
        before_row, before_column = now["row"], now["column"]
        row, column = before_row + now["down"], before_column + now["right"]
        beyond = (column < 0) | (column > BOTTOM)
        column, right = limited(column), np.where(beyond, -now["right"], now["right"])
        above = row < 0
        row = limited(row)  # a game that is lost goes on at the bottom
        hits = ~above & now["bricks"][every, row, column]
        taken = hits & ~now["struck"]
        rewards += taken
        now["bricks"][every[taken], row[taken], column[taken]] = False
        at_bottom = ~above & ~hits & (row == BOTTOM)
        cleared = at_bottom & ~now["bricks"].any(axis=(1, 2))
        now["bricks"][cleared, WALL] = True
        straight = at_bottom & (before_column == paddle)
        aside = at_bottom & ~straight & (column == paddle)
        lost |= at_bottom & ~straight & ~aside
        now["down"] = np.where(above | hits | straight | aside, -now["down"], now["down"])
        now["right"] = np.where(aside, -right, right)
        now["row"] = np.where(hits | straight | aside, before_row, row)
        now["column"], now["struck"] = column, hits
        now["was_row"], now["was_column"] = before_row, before_column

    def draw(self, boards: Bits) -> None:
        """Paddle, ball, trail, bricks."""
        now, every = self.now, self.every
        boards[every, 0, BOTTOM, now["paddle"]] = True
        boards[every, 1, now["row"], now["column"]] = True
        boards[every, 2, now["was_row"], now["was_column"]] = True
        boards[:, 3] = now["bricks"]
