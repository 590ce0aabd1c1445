"""Catch: a ball falls from a random column, and a paddle at the bottom must be at the column of its landing.

Legend: M copies, E copies that start an episode, S pixels of a screen's side.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body, Saved
from plasticity_lab.environments.games.board import limited

ROWS, COLUMNS = 10, 5
STEPS_A_BALL = ROWS - 1
BALLS = 10
"""Default number of balls in an episode."""
SCREEN = 84
"""Pixels of a rendered board's side, as in an Atari observation."""
FRAMES = 4
"""Rendered frames in an observation, as for an Atari game."""
PACKS_TO = 0.01
"""With random actions rendered boards take 0.004 of their bytes compressed."""
WHITE = 255
"""Value of ball and paddle; all other cells are 0."""


class Catch:
    """M games of `balls` balls each.  An action moves the paddle left (0), leaves it (1) or moves it right (2).

    First the paddle moves by one cell, limited to the board, then the ball falls by one. When the ball reaches the
    bottom, the reward is 1 if the paddle caught it and −1 if not; all other rewards are 0. The next ball is then in the
    top row already, and the paddle stays at its place; the last ball terminates. An observation is the board, (1, 10,
    5) uint8, or rendered at 84 × 84. The best policy earns `balls`, since the paddle can reach every column during a
    fall. The columns of all balls of an episode are drawn when it begins, so no generator is kept.

    Source: Osband et al. 2020, bsuite's Catch: an episode is one ball of nine steps (balls=1). With one ball, returns
    of nine steps or more never bootstrap; with several balls they do.
    """

    def __init__(self, copies: int, balls: int = BALLS, rendered: bool = False) -> None:
        self.columns = np.zeros((copies, balls), np.int8)
        self.ball, self.row = np.zeros(copies, np.int64), np.zeros(copies, np.int8)
        self.paddle = np.full(copies, COLUMNS // 2, np.int8)
        self._every = np.arange(copies)
        side = np.arange(SCREEN)
        # The cell that each pixel shows.
        self._pixels = (side * ROWS // SCREEN, side * COLUMNS // SCREEN) if rendered else None

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.uint8]:
        """Starts an episode in these copies (E,); returns their boards, (E, 1, 10, 5) or (E, 1, 84, 84)."""
        balls = self.columns.shape[1]
        self.columns[copies] = np.stack([stream.integers(COLUMNS, size=balls) for stream in streams])
        self.ball[copies], self.row[copies], self.paddle[copies] = 0, 0, COLUMNS // 2
        return self._shown(copies)

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
        """Moves paddles and balls, actions (M,): boards (M, 1, ...), rewards (M,), which terminated (M,)."""
        self.paddle = limited(self.paddle + actions - 1, high=COLUMNS - 1).astype(np.int8)
        # A game that has terminated continues with its last ball.
        self.row = np.minimum(self.row + 1, ROWS - 1).astype(np.int8)
        landed = self.row == ROWS - 1
        caught = self.columns[self._every, self.ball] == self.paddle
        rewards = np.where(landed, np.where(caught, 1.0, -1.0), 0.0)
        last = self.ball == self.columns.shape[1] - 1
        follows = landed & ~last
        self.ball = self.ball + follows
        self.row = np.where(follows, 0, self.row).astype(np.int8)
        return self._shown(self._every), rewards, landed & last

    def state(self) -> dict[str, Saved]:
        """Arrays "columns" (M, balls), and "ball", "row" and "paddle" (M,)."""
        return {name: getattr(self, name).copy() for name in ("columns", "ball", "row", "paddle")}

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes back to what `state` gave."""
        self.columns, self.ball = state["columns"].copy(), state["ball"].copy()
        self.row, self.paddle = state["row"].copy(), state["paddle"].copy()

    def _shown(self, copies: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The boards of these copies (E,)."""
        boards, at = np.zeros((len(copies), 1, ROWS, COLUMNS), np.uint8), np.arange(len(copies))
        boards[at, 0, self.row[copies], self.columns[copies, self.ball[copies]]] = WHITE
        boards[at, 0, ROWS - 1, self.paddle[copies]] = WHITE
        if self._pixels is None:
            return boards
        rows, columns = self._pixels
        return boards[:, :, rows[:, None], columns]


def catch(balls: int = BALLS, rendered: bool = False, stack: int = 1) -> Body:
    """The game as a body: "catch", or rendered "catch_84".  stack: frames of an observation."""
    shape = (SCREEN, SCREEN) if rendered else (ROWS, COLUMNS)
    return Body(
        name="catch_84" if rendered else "catch",
        version="v1",
        observation=(stack, *shape),
        actions=3,
        max_steps=balls * STEPS_A_BALL,
        simulation=partial(Catch, balls=balls, rendered=rendered),
        source="Osband et al. 2020, as bsuite's catch, with several balls an episode",
        dtype="uint8",
        stack=stack,
        whole_episodes=True,
        packs_to=PACKS_TO if rendered else None,
    )
