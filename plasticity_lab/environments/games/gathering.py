"""Gathering: gold and enemies cross the board; the gatherer collects gold and avoids enemies.

Legend: M games, E games that start an episode, L lanes, C channels of a board.
"""

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.games.board import DOWN, LEFT, NOTHING, RIGHT, SIDE, UP, Bits, Board, Whole, moved

LANES = np.arange(1, 9)
"""The rows of the lanes; each has at most one object."""
SPAWNING, MOVING = 10, 5
"""Steps between two new objects, and between two of their moves, at first."""
LEVEL = 100
"""Steps of a level."""
GOLD = 1 / 3
"""The probability that an object is gold."""


class Gathering(Board):
    """A gatherer anywhere in rows 1 to 8, and at most one object in each of these rows: gold, worth 1, or an enemy.

    Every ten steps an object enters at a side, in a free row. Every five steps all objects move by a column, until they
    leave at the other side. The gatherer moves by a cell in each step. It collects gold in its cell; an enemy there
    loses the game. With `ramping`, the interval between new objects is one step shorter after each 100 steps, down to
    1. The interval between moves is one step shorter after each 200. Channels: gatherer, enemies, last places of
    objects, gold.
    Source: in the manner of MinAtar's Asterix (Young & Tian 2019).
    """

    actions = (NOTHING, LEFT, UP, RIGHT, DOWN)
    channels = ("gatherer", "enemy", "trail", "gold")
    fields = {
        "row": ((), int),
        "column": ((), int),
        "there": ((len(LANES),), bool),
        "gold": ((len(LANES),), bool),
        "columns": ((len(LANES),), int),
        "right": ((len(LANES),), int),
        "until_spawn": ((), int),
        "until_move": ((), int),
        "steps": ((), int),
    }

    def begin(self, games: Whole) -> None:
        """Places the gatherer in the middle, without objects."""
        now = self.now
        now["row"][games] = now["column"][games] = SIDE // 2
        now["until_spawn"][games], now["until_move"][games] = SPAWNING - 1, MOVING - 1

    def move(self, actions: Whole, rewards: NDArray[np.float64], lost: Bits) -> None:
        """A new object may enter, the gatherer moves, objects move."""
        now = self.now
        level = now["steps"] // LEVEL if self.ramping else np.zeros_like(now["steps"])
        spawns = now["until_spawn"] == 0
        now["until_spawn"] = np.where(spawns, np.maximum(SPAWNING - level, 1) - 1, now["until_spawn"] - 1)
        if spawns.any():
            self._spawn(self.every[spawns])
        now["column"] = moved(now["column"], actions, LEFT, RIGHT)
        now["row"] = moved(now["row"], actions, UP, DOWN, LANES[0], LANES[-1])
        self._meet(rewards, lost)
        moves = now["until_move"] == 0
        now["until_move"] = np.where(moves, np.maximum(MOVING - level // 2, 1) - 1, now["until_move"] - 1)
        now["columns"] = np.where(moves[:, None] & now["there"], now["columns"] + now["right"], now["columns"])
        now["there"] &= (now["columns"] >= 0) & (now["columns"] < SIDE)
        self._meet(rewards, lost)
        now["steps"] = now["steps"] + 1

    def draw(self, boards: Bits) -> None:
        """Gatherer, enemies, trails, gold."""
        now = self.now
        boards[self.every, 0, now["row"], now["column"]] = True
        games, lanes = np.nonzero(now["there"])
        columns, rows = now["columns"][games, lanes], LANES[lanes]
        boards[games, np.where(now["gold"][games, lanes], 3, 1), rows, columns] = True
        before = columns - now["right"][games, lanes]
        within = (before >= 0) & (before < SIDE)
        boards[games[within], 2, rows[within], before[within]] = True

    def _spawn(self, games: Whole) -> None:
        """Adds an object in a free row of each of these games (E,); games without a free row get none."""
        now = self.now
        from_left, gold = self.chance.integers(2, games) == 1, self.chance.uniform(games) < GOLD
        free = ~now["there"][games]
        chosen = (self.chance.uniform(games) * free.sum(axis=1)).astype(np.int64)
        lane = (free.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)
        some = free.any(axis=1)
        games, lane = games[some], lane[some]
        now["there"][games, lane], now["gold"][games, lane] = True, gold[some]
        now["columns"][games, lane] = np.where(from_left[some], 0, SIDE - 1)
        now["right"][games, lane] = np.where(from_left[some], 1, -1)

    def _meet(self, rewards: NDArray[np.float64], lost: Bits) -> None:
        """Collects gold in the gatherer's cell, and marks games with an enemy there as lost."""
        now = self.now
        met = now["there"] & (now["columns"] == now["column"][:, None]) & (now["row"][:, None] == LANES)
        rewards += (met & now["gold"]).any(axis=1)
        lost |= (met & ~now["gold"]).any(axis=1)
        now["there"] &= ~(met & now["gold"])
