"""A board as text: a letter for each kind of thing."""

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.games.games import GAMES

EMPTY = "·"
SIGNS = {
    "bricks": "Po,#",
    "invaders": "AV<>!|",
    "crossing": "WC12345",
    "gathering": "GE~$",
}
"""Of each game's channels, in their order."""


def frame(name: str, board: NDArray[np.uint8]) -> str:
    """A game's board (C, 10, 10) as ten lines; where several things are, the channel that comes first is shown."""
    signs = np.full(board.shape[1:], EMPTY)
    for channel in reversed(range(len(SIGNS[name]))):
        signs[board[channel] > 0] = SIGNS[name][channel]
    return "\n".join(" ".join(row) for row in signs)


def legend(name: str) -> str:
    """What the letters of a game mean."""
    return ", ".join(f"{sign} {thing}" for sign, thing in zip(SIGNS[name], GAMES[name].channels, strict=True))
