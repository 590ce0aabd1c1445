"""Crossing: a walker crosses a road of eight lanes, again and again.

Legend: M games, E games that start an episode, L lanes, C channels of a board.
"""

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.games.board import DOWN, NOTHING, SIDE, UP, Bits, Board, Whole, moved

LANES = np.arange(1, 9)
"""The rows of the lanes; each has one car."""
COLUMN = 4
"""The column of the walker."""
BOTTOM = SIDE - 1
RESTING = 3
"""Steps between two moves of the walker."""
SLOWEST = 5
"""Steps between two moves of the slowest car; the fastest one moves in every step."""


class Crossing(Board):
    """A walker in the fifth column, and a car in each of eight lanes; reaching the far side has a reward of 1.

    The walker moves up or down by a row at most every third step. A car moves by a column every 1 to 5 steps, to the
    left or to the right, and comes back on the other side. After a collision the walker is back at the bottom. After a
    crossing it returns there too, and all cars have new speeds and directions. Only the limit on steps ends the game.
    With `ramping`, cars are faster after each crossing: the slowest moves every 5, 4, 3, 3 … steps. Channels: walker,
    cars, and the last place of each car, in a channel for each of its five speeds.
    Source: in the manner of MinAtar's Freeway (Young & Tian 2019).
    """

    actions = (NOTHING, UP, DOWN)
    channels = ("walker", "car", *(f"trail of a car that moves every {steps}" for steps in range(1, SLOWEST + 1)))
    fields = {
        "walker": ((), int),
        "until_step": ((), int),
        "crossed": ((), int),
        "columns": ((len(LANES),), int),
        "every": ((len(LANES),), int),
        "right": ((len(LANES),), int),
        "until_move": ((len(LANES),), int),
    }

    def begin(self, games: Whole) -> None:
        """Cars begin at a side."""
        self.now["walker"][games] = BOTTOM
        self._drive(games)
        self.now["columns"][games] = np.where(self.now["right"][games] > 0, 0, BOTTOM)

    def move(self, actions: Whole, rewards: NDArray[np.float64], lost: Bits) -> None:
        """The walker, then the cars."""
        now = self.now
        walks = ((actions == UP) | (actions == DOWN)) & (now["until_step"] == 0)
        now["walker"] = moved(now["walker"], np.where(walks, actions, NOTHING), UP, DOWN)
        now["until_step"] = np.where(walks, RESTING - 1, np.maximum(now["until_step"] - 1, 0))
        across = now["walker"] == 0
        rewards += across
        now["crossed"] += across
        now["walker"] = np.where(across, BOTTOM, now["walker"])
        if across.any():
            self._drive(self.every[across])
        hit = self._met()
        drives = now["until_move"] == 0
        now["columns"] = np.where(drives, (now["columns"] + now["right"]) % SIDE, now["columns"])
        now["until_move"] = np.where(drives, now["every"] - 1, now["until_move"] - 1)
        now["walker"] = np.where(hit | self._met(), BOTTOM, now["walker"])

    def draw(self, boards: Bits) -> None:
        """Marks the walker, the cars, and their last places."""
        now, games, lanes = self.now, self.every[:, None], LANES[None]
        boards[self.every, 0, now["walker"], COLUMN] = True
        boards[games, 1, lanes, now["columns"]] = True
        boards[games, 1 + now["every"], lanes, (now["columns"] - now["right"]) % SIDE] = True

    def _met(self) -> Bits:
        """Whether a car is in the walker's cell, (M,)."""
        there = (self.now["columns"] == COLUMN) & (self.now["walker"][:, None] == LANES)
        return there.any(axis=1)

    def _drive(self, games: Whole) -> None:
        """New speeds and directions of all cars of these games (E,)."""
        now = self.now
        slowest = np.maximum(SLOWEST - now["crossed"][games], 3) if self.ramping else np.full(len(games), SLOWEST)
        for lane in range(len(LANES)):
            every = 1 + (self.chance.uniform(games) * slowest).astype(np.int64)
            now["every"][games, lane], now["until_move"][games, lane] = every, every - 1
            now["right"][games, lane] = 2 * self.chance.integers(2, games) - 1
