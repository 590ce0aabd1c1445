"""The returns of random actions and of scripted policies in each game, which normalise an agent's scores."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.environments import Environments
from plasticity_lab.environments.games.board import ACTIONS, DOWN, FIRE, LEFT, NOTHING, RIGHT, SIDE, UP
from plasticity_lab.environments.games.crossing import COLUMN
from plasticity_lab.environments.games.games import GAMES, RAMPING, STICKY, game
from plasticity_lab.randomness.host import host_stream

Act = Callable[[NDArray[Any]], NDArray[np.int64]]
"""Boards (K, 1, C, 10, 10) → indices into the game's actions, (K, 1)."""


def act_of(name: str, policy: str, seed: int) -> Act:
    """A policy of a game as a function.  policy: scripted or random. seed: for random actions."""
    known = GAMES[name].actions
    place = np.zeros(len(ACTIONS), np.int64)
    place[list(known)] = range(len(known))
    draw = host_stream(seed, "random policy", name)
    if policy == "random":
        return lambda boards: draw.integers(len(known), size=boards.shape[:2])
    return lambda boards: place[POLICIES[name](boards[:, 0] > 0)][:, None]


def returns_of(name: str, policy: str, episodes: int, seed: int) -> NDArray[np.float64]:
    """The return of the first episode in each of `episodes` environments, with default settings, (episodes,)."""
    environments = Environments(game(name), range(seed, seed + episodes), 1, 0, purpose="scores")
    act, found = act_of(name, policy, seed), np.full(episodes, np.nan)
    while np.isnan(found).any():
        ended = environments.step(act(environments.observations)).ended
        first = np.isnan(found[ended.run])
        found[ended.run[first]] = ended.returns[first]
    return found


def scores(episodes: int, seed: int) -> list[dict[str, Any]]:
    """A line for each game: means and standard errors of random and scripted returns, with the game's settings."""
    lines = []
    for name in GAMES:
        line: dict[str, Any] = {"game": name, "version": game(name).version, "sticky": STICKY, "ramping": RAMPING}
        for policy in ("random", "scripted"):
            returns = returns_of(name, policy, episodes, seed)
            line |= {
                f"{policy}": round(float(returns.mean()), 3),
                f"{policy}_standard_error": round(float(returns.std(ddof=1) / len(returns) ** 0.5), 3),
            }
        lines.append(line | {"episodes": episodes, "seed": seed})
    return lines


# A policy for each game that reads only the board, as a reference for an agent's score.
#
# They are short, and far from optimal. Legend: M games, C channels of a board.

Boards = NDArray[np.bool_]
Actions = NDArray[np.int64]
Policy = Callable[[Boards], Actions]
"""Boards (M, C, 10, 10), True for cells with an object → actions of `ACTIONS`, (M,)."""
BOTTOM = SIDE - 1
AHEAD = 3
"""Steps that the policy looks ahead for invaders' shots."""
BESIDE = ((NOTHING, 0, 0), (LEFT, 0, -1), (RIGHT, 0, 1), (UP, -1, 0), (DOWN, 1, 0))
"""Actions, and by how many rows and columns they move."""


def bricks(boards: Boards) -> Actions:
    """Moves below the ball's next place, one step ahead."""
    paddle, ball, before = (_column(boards[:, channel]) for channel in (0, 1, 2))
    return _towards(paddle, np.clip(2 * ball - before, 0, BOTTOM))


def invaders(boards: Boards) -> Actions:
    """Leaves a column with an incoming shot; otherwise moves below the nearest column of aliens and fires."""
    cannon, games = _column(boards[:, 0]), np.arange(len(boards))
    shots: Boards = np.logical_or.reduce(boards[:, 5, BOTTOM - AHEAD : BOTTOM], axis=1)
    columns = np.arange(SIDE)
    far = np.where(boards[:, 1].any(axis=1), np.abs(columns - cannon[:, None]), SIDE)
    aimed = np.where(far.min(axis=1) == 0, FIRE, _towards(cannon, far.argmin(axis=1)))
    right_free = (cannon < BOTTOM) & ~shots[games, np.minimum(cannon + 1, BOTTOM)]
    left_free = (cannon > 0) & ~shots[games, np.maximum(cannon - 1, 0)]
    away = np.where(right_free, RIGHT, np.where(left_free, LEFT, NOTHING))
    to = np.clip(cannon - (aimed == LEFT) + (aimed == RIGHT), 0, BOTTOM)
    safe = np.where(shots[games, to], NOTHING, aimed)
    return np.where(shots[games, cannon], away, safe)


def crossing(boards: Boards) -> Actions:
    """Moves up, unless a car in the next row is in the walker's column, or is adjacent to it and approaching."""
    games, row = np.arange(len(boards)), boards[:, 0].any(axis=2).argmax(axis=1)
    ahead = np.maximum(row - 1, 0)
    car = _column(boards[games, 1, ahead])
    there = boards[games, 1, ahead].any(axis=1)
    trail: Boards = np.logical_or.reduce(boards[:, 2:7], axis=1)[games, ahead]
    from_left = trail[games, (car - 1) % SIDE]
    comes = (car == COLUMN) | (from_left & (car == COLUMN - 1)) | (~from_left & (car == COLUMN + 1))
    return np.where(there & comes, NOTHING, UP)


def gathering(boards: Boards) -> Actions:
    """Moves towards the nearest gold, or to the middle; avoids cells that an enemy occupies or can reach in the next
    step.
    """
    games, rows = np.arange(len(boards)), np.arange(SIDE)
    gatherer = boards[:, 0].reshape(len(boards), -1).argmax(axis=1)
    row, column = gatherer // SIDE, gatherer % SIDE
    distance = np.abs(rows[:, None] - row[:, None, None]) + np.abs(rows - column[:, None, None])
    nearest = np.where(boards[:, 3], distance, 3 * SIDE).reshape(len(boards), -1).argmin(axis=1)
    some = boards[:, 3].any(axis=(1, 2))
    to_row = np.where(some, nearest // SIDE, SIDE // 2)
    to_column = np.where(some, nearest % SIDE, SIDE // 2)
    enemies = boards[:, 1]
    beside = enemies.copy()
    beside[:, :, 1:] |= enemies[:, :, :-1]
    beside[:, :, :-1] |= enemies[:, :, 1:]
    best, least = np.zeros(len(boards), np.int64), np.full(len(boards), np.inf)
    for action, down, right in BESIDE:
        there_row, there_column = np.clip(row + down, 1, SIDE - 2), np.clip(column + right, 0, BOTTOM)
        far = np.abs(there_row - to_row) + np.abs(there_column - to_column)
        cost = far + 100 * beside[games, there_row, there_column] + 1_000 * enemies[games, there_row, there_column]
        best, least = np.where(cost < least, action, best), np.minimum(cost, least)
    return best


POLICIES: Mapping[str, Policy] = {
    "bricks": bricks,
    "invaders": invaders,
    "crossing": crossing,
    "gathering": gathering,
}


def _column(cells: Boards) -> Actions:
    """The column of the only marked cell, (M,): cells (M, 10, 10), or one row (M, 10)."""
    return (cells.any(axis=1) if cells.ndim == 3 else cells).argmax(axis=1)


def _towards(place: Actions, wanted: Actions) -> Actions:
    return np.where(wanted < place, LEFT, np.where(wanted > place, RIGHT, NOTHING))
