"""Invaders: a block of aliens comes down and shoots, and a cannon shoots back.

Legend: M games, E games that start an episode, C channels of a board.
"""

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.games.board import FIRE, LEFT, NOTHING, RIGHT, SIDE, Bits, Board, Whole, moved

BOTTOM = SIDE - 1
BLOCK = (slice(0, 4), slice(2, 8))
"""The first cells of the aliens."""
SLOWEST, FASTEST = 12, 6
"""Longest rest of the block between two moves, in steps: in the first wave and in the last."""
RELOADING = 5
"""Steps after a shot before the cannon can fire again."""
SHOOTING = 10
"""Steps between two shots of the aliens."""


class Invaders(Board):
    """A cannon in the bottom row, and a block of 4 × 6 aliens, each worth 1 when it is shot.

    The block moves sideways by a column; at a side it moves down by a row instead and turns around. Between two moves
    it rests for as many steps as there are aliens left, and for 12 at most. Between two shots the aliens rest for ten
    steps; the lowest alien in the column nearest to the cannon shoots. The cannon rests for five. Shots move by one
    cell per step. The game is lost if a shot or an alien meets the cannon, or if an alien would move below the bottom.
    After all aliens are shot, the next block comes; with `ramping` the block's longest rest is then a step shorter,
    down to 6. Channels: cannon, aliens, aliens that move left, aliens that move right, shots of the cannon, shots of
    aliens.
    Source: in the manner of MinAtar's Space Invaders (Young & Tian 2019); its rests are a step shorter.
    """

    actions = (NOTHING, LEFT, RIGHT, FIRE)
    channels = ("cannon", "alien", "aliens go left", "aliens go right", "own shot", "alien's shot")
    fields = {
        "cannon": ((), int),
        "aliens": ((SIDE, SIDE), bool),
        "own": ((SIDE, SIDE), bool),
        "theirs": ((SIDE, SIDE), bool),
        "right": ((), int),
        "slowest": ((), int),
        "until_move": ((), int),
        "until_shot": ((), int),
        "until_loaded": ((), int),
    }

    def begin(self, games: Whole) -> None:
        """The block moves to the left or the right first."""
        now = self.now
        now["cannon"][games] = SIDE // 2
        now["right"][games] = 2 * self.chance.integers(2, games) - 1
        now["slowest"][games] = now["until_move"][games] = SLOWEST
        now["until_shot"][games] = SHOOTING
        now["aliens"][games] = _block()

    def move(self, actions: Whole, rewards: NDArray[np.float64], lost: Bits) -> None:
        """Moves the cannon, all shots and the aliens, then resolves hits."""
        now, every = self.now, self.every
        fires = (actions == FIRE) & (now["until_loaded"] == 0)
        now["own"][every[fires], BOTTOM, now["cannon"][fires]] = True
        now["until_loaded"] = np.where(fires, RELOADING, np.maximum(now["until_loaded"] - 1, 0))
        now["cannon"] = cannon = moved(now["cannon"], actions, LEFT, RIGHT)
        now["own"], now["theirs"] = _shifted(now["own"], up=1), _shifted(now["theirs"], up=-1)
        lost |= now["theirs"][every, BOTTOM, cannon] | now["aliens"][every, BOTTOM, cannon]
        self._advance(lost)
        lost |= now["aliens"][every, BOTTOM, cannon]
        self._shoot()
        hit = now["aliens"] & now["own"]
        rewards += hit.sum(axis=(1, 2))
        now["aliens"] &= ~hit
        now["own"] &= ~hit
        cleared = ~now["aliens"].any(axis=(1, 2))
        if self.ramping:
            now["slowest"] = np.where(cleared, np.maximum(now["slowest"] - 1, FASTEST), now["slowest"])
        now["aliens"][cleared] = _block()

    def draw(self, boards: Bits) -> None:
        """Marks the cannon, the aliens with their direction, and the shots."""
        now, goes_right = self.now, (self.now["right"] > 0)[:, None, None]
        boards[self.every, 0, BOTTOM, now["cannon"]] = True
        boards[:, 1] = now["aliens"]
        boards[:, 2] = now["aliens"] & ~goes_right
        boards[:, 3] = now["aliens"] & goes_right
        boards[:, 4], boards[:, 5] = now["own"], now["theirs"]

    def _advance(self, lost: Bits) -> None:
        """Moves the block if its rest is over."""
        now = self.now
        time = now["until_move"] == 0
        left = np.minimum(now["aliens"].sum(axis=(1, 2)), now["slowest"])
        now["until_move"] = np.where(time, left, now["until_move"] - 1)
        if not time.any():
            return
        edge = np.where(now["right"] > 0, now["aliens"][:, :, -1].any(axis=1), now["aliens"][:, :, 0].any(axis=1))
        down, aside = time & edge, time & ~edge
        lost |= down & now["aliens"][:, BOTTOM].any(axis=1)
        now["right"] = np.where(down, -now["right"], now["right"])
        for games, shift in (
            (down, {"up": -1}),
            (aside & (now["right"] > 0), {"left": -1}),
            (aside & (now["right"] < 0), {"left": 1}),
        ):
            now["aliens"][games] = _shifted(now["aliens"][games], **shift)

    def _shoot(self) -> None:
        """If the aliens' rest is over, the alien nearest to the cannon shoots; the left column wins a tie."""
        now = self.now
        time = now["until_shot"] == 0
        now["until_shot"] = np.where(time, SHOOTING, now["until_shot"] - 1)
        if not time.any():
            return
        games = self.every[time]
        aliens = now["aliens"][games]
        far = np.where(aliens.any(axis=1), np.abs(np.arange(SIDE) - now["cannon"][games, None]), SIDE)
        column = far.argmin(axis=1)
        row = BOTTOM - aliens[np.arange(len(games)), ::-1, column].argmax(axis=1)
        there = aliens.any(axis=(1, 2))
        now["theirs"][games[there], row[there], column[there]] = True


def _block() -> Bits:
    block = np.zeros((SIDE, SIDE), np.bool_)
    block[BLOCK] = True
    return block


def _shifted(cells: Bits, up: int = 0, left: int = 0) -> Bits:
    """Boards (M, 10, 10) moved by a cell; cells that leave the board are dropped."""
    found = np.zeros_like(cells)
    if up:
        rows, from_rows = (slice(0, -1), slice(1, None)) if up > 0 else (slice(1, None), slice(0, -1))
        found[:, rows] = cells[:, from_rows]
    else:
        columns, from_columns = (slice(0, -1), slice(1, None)) if left > 0 else (slice(1, None), slice(0, -1))
        found[:, :, columns] = cells[:, :, from_columns]
    return found
