"""Gathering: gold and enemies cross the board; the one is picked up, the others are avoided.

Legend: M games, E of them that begin anew, L lanes, C channels of a board.
"""

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.games.board import DOWN, LEFT, NOTHING, RIGHT, SIDE, UP, Bits, Board, Whole, moved

LANES = np.arange(1, 9)
"""The rows in which one thing can be each."""
SPAWNING, MOVING = 10, 5
"""Steps from one thing to the next, and from one of their moves to the next, at first."""
LEVEL = 100
"""Steps of a level."""
GOLD = 1 / 3
"""How likely a thing is gold."""


class Gathering(Board):
    """A gatherer anywhere in rows 1 to 8, and a thing at most in each of these rows: gold, worth 1, or an enemy.

    Every ten steps a thing comes in at a side, in a free row, and every five steps all move by a column, until they are
    gone at the other side. The gatherer moves by a cell in each step. Meeting gold picks it up; meeting an enemy loses
    the game. With `ramping`, after each 100 steps things come a step sooner, down to each step, and after each 200 they
    move a step sooner too. Channels: gatherer, enemies, where things were, gold.

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
        """The gatherer stands in the middle, and nothing is there."""
        now = self.now
        now["row"][games] = now["column"][games] = SIDE // 2
        now["until_spawn"][games], now["until_move"][games] = SPAWNING - 1, MOVING - 1

    def move(self, actions: Whole, rewards: NDArray[np.float64], lost: Bits) -> None:
        """A thing comes in, the gatherer moves, things move."""
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
        """A thing comes in, in a free row of each of these games (E,); where none is free, nothing does."""
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
        """What is where the gatherer is."""
        now = self.now
        met = now["there"] & (now["columns"] == now["column"][:, None]) & (now["row"][:, None] == LANES)
        rewards += (met & now["gold"]).any(axis=1)
        lost |= (met & ~now["gold"]).any(axis=1)
        now["there"] &= ~(met & now["gold"])
