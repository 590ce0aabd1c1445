"""The games on boards as bodies: bricks, invaders, crossing, gathering, each in two forms.

A new game is a module with a `Board` and a line in `GAMES`.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body
from plasticity_lab.environments.games.board import ACTIONS, SIDE, Board
from plasticity_lab.environments.games.bricks import Bricks
from plasticity_lab.environments.games.crossing import Crossing
from plasticity_lab.environments.games.gathering import Gathering
from plasticity_lab.environments.games.invaders import Invaders
from plasticity_lab.errors import ConfigError

GAMES: dict[str, type[Board]] = {"bricks": Bricks, "invaders": Invaders, "crossing": Crossing, "gathering": Gathering}
MOST_CHANNELS = max(len(game.channels) for game in GAMES.values())
"""Channels of the game with the most. All games have this many if they follow one another in one network."""
MAX_STEPS = 1_000
"""Limit on the steps of an episode."""
FULL = "_full"
"""Suffix of a game's name in the form with all actions and channels."""
STICKY, RAMPING = 0.1, True
"""Default settings, as in MinAtar."""


def game(name: str, full: bool = False, sticky: float = STICKY, ramping: bool = RAMPING) -> Body:
    """A game as a body: "bricks", or with all actions and as many channels as any game has, "bricks_full".

    Raises ConfigError if there is no game of that name.
    """
    if name not in GAMES:
        raise ConfigError(f"There is no game '{name}'; there are {', '.join(GAMES)}.")
    board = GAMES[name]
    return Body(
        name=f"{name}{FULL}" if full else name,
        version="v1",
        observation=(MOST_CHANNELS if full else len(board.channels), SIDE, SIDE),
        actions=len(ACTIONS) if full else len(board.actions),
        max_steps=MAX_STEPS,
        simulation=partial(board, full=full, padded=MOST_CHANNELS, sticky=sticky, ramping=ramping),
        source="in the manner of MinAtar (Young & Tian 2019)",
        dtype="uint8",
    )


# A board as text: a letter for each kind of thing.

EMPTY = "·"
SIGNS = {
    "bricks": "Po,#",
    "invaders": "AV<>!|",
    "crossing": "WC12345",
    "gathering": "GE~$",
}
"""The letters of each game's channels, in their order."""


def frame(name: str, board: NDArray[np.uint8]) -> str:
    """A game's board (C, 10, 10) as ten lines; if a cell has several objects, the first channel is shown."""
    signs = np.full(board.shape[1:], EMPTY)
    for channel in reversed(range(len(SIGNS[name]))):
        signs[board[channel] > 0] = SIGNS[name][channel]
    return "\n".join(" ".join(row) for row in signs)


def legend(name: str) -> str:
    """The meaning of a game's letters."""
    return ", ".join(f"{sign} {thing}" for sign, thing in zip(SIGNS[name], GAMES[name].channels, strict=True))
