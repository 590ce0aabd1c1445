"""What random actions and the scripted policies earn in each game: by what an agent's returns become scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.environments import Environments
from plasticity_lab.environments.games.board import ACTIONS
from plasticity_lab.environments.games.games import GAMES, RAMPING, STICKY, game
from plasticity_lab.environments.games.scripted import POLICIES
from plasticity_lab.randomness.host import host_stream

Act = Callable[[NDArray[Any]], NDArray[np.int64]]
"""Boards (K, 1, C, 10, 10) → actions of the game's own, (K, 1)."""


def act_of(name: str, policy: str, seed: int) -> Act:
    """How a policy acts in a game.  policy: scripted or random. seed: of random actions."""
    known = GAMES[name].actions
    place = np.zeros(len(ACTIONS), np.int64)
    place[list(known)] = range(len(known))
    draw = host_stream(seed, "random policy", name)
    if policy == "random":
        return lambda boards: draw.integers(len(known), size=boards.shape[:2])
    return lambda boards: place[POLICIES[name](boards[:, 0] > 0)][:, None]


def returns_of(name: str, policy: str, episodes: int, seed: int) -> NDArray[np.float64]:
    """The returns of the first episode of that many environments each, with the usual settings, (episodes,)."""
    environments = Environments(game(name), range(seed, seed + episodes), 1, 0, purpose="scores")
    act, found = act_of(name, policy, seed), np.full(episodes, np.nan)
    while np.isnan(found).any():
        ended = environments.step(act(environments.observations)).ended
        first = np.isnan(found[ended.run])
        found[ended.run[first]] = ended.returns[first]
    return found


def scores(episodes: int, seed: int) -> list[dict[str, Any]]:
    """A line for each game: means and standard errors of random and scripted returns, and what they are of."""
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
