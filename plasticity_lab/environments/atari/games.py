"""The Atari games as bodies, before anything is built: this file imports no ale-py.

games.csv has how many actions each knows, and the sets that papers use: the 20 games of the SoftMoE papers, the 26 of
Atari 100k, the 60 of Dopamine (5 of which have no human score).
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from math import pi
from pathlib import Path

from plasticity_lab.environments.body import Body
from plasticity_lab.environments.simulation import Simulation
from plasticity_lab.errors import ConfigError

FILE = Path(__file__).with_name("games.csv")
SETS = ("games20", "games26", "games60")
FRAMES = 4
"""Of an observation, and of a step."""
SCREEN = 84
"""Pixels of a frame's side."""
ALL = 18
"""Actions of the joystick."""
NUMBERS, LOW, HIGH = 3, (0.0, -pi, 0.0), (1.0, pi, 1.0)
"""Of an action that is numbers: how far the joystick is moved, in which direction, and whether to fire."""
THRESHOLD = 0.5
"""Beyond which a number of an action counts, unless somebody says otherwise.  Source: Farebrother & Castro 2024."""
STICKY = 0.25
"""How likely a frame takes the last action again, unless somebody says otherwise.  Source: Machado et al. 2018."""
MAX_STEPS = 27_000
"""After which an episode is broken off: 108,000 frames, half an hour, as Dopamine has it."""


@dataclass(frozen=True)
class Game:
    """name: ale-py's. actions: of its minimal set. all_actions: of the joystick, 18 but for one game. sets: those of
    SETS that it is in.
    """

    name: str
    actions: int
    all_actions: int
    sets: frozenset[str]


@cache
def games() -> Mapping[str, Game]:
    """By name."""
    with FILE.open(newline="", encoding="utf-8") as file:
        return {line["game"]: _game(line) for line in csv.DictReader(file)}


def _game(line: Mapping[str, str]) -> Game:
    sets = frozenset(of for of in SETS if line[of] == "1")
    return Game(line["game"], int(line["actions"]), int(line["all_actions"]), sets)


def members(of: str) -> list[str]:
    """The names of the games of a set, by letter."""
    return [name for name, game in games().items() if of in game.sets]


def spellings() -> dict[str, list[str]]:
    """What stands for other names: a set → its games, by letter; what Gymnasium calls a game → its name alone.

    As in "games26", and in "ALE/Pong-v5", "Pong-v5", "PongNoFrameskip-v4", "Pong".
    """
    found = {of: members(of) for of in SETS}
    for name in games():
        called = _called(name)
        found |= {word: [name] for word in (f"ALE/{called}-v5", f"{called}-v5", f"{called}NoFrameskip-v4", called)}
    return found


def game_named(name: str) -> Game:
    """The game of that name.  Raises ConfigError, naming the nearest."""
    if name in games():
        return games()[name]
    near = get_close_matches(name.lower(), games(), n=3)
    meant = f"; did you mean {' or '.join(near)}?" if near else "."
    raise ConfigError(
        f"There is no Atari game '{name}'{meant} There are {len(games())}, and the sets {', '.join(SETS)}: "
        "plasticity_lab/environments/atari/games.csv lists them."
    )


def atari(
    name: str,
    sticky: float = STICKY,
    full_actions: bool = False,
    noops: int = 0,
    max_steps: int = MAX_STEPS,
    threshold: float | None = None,
) -> Body:
    """A game as a body.  See `Atari`; max_steps: of an episode, of four frames each.  Raises ConfigError."""
    game = game_named(name)
    if threshold is not None and game.all_actions != ALL:
        # ale-py's vector of games then takes the numbers of the 18 actions for places among these, and never answers.
        raise ConfigError(
            f"The game {game.name} knows {game.all_actions} of the joystick's {ALL} actions, and from numbers ale-py "
            f"makes one of all {ALL}; choose another game, or benchmark=atari."
        )
    chosen = game.all_actions if full_actions else game.actions
    return Body(
        name=game.name,
        version="v5" if threshold is None else "v5 continuous",
        observation=(FRAMES, SCREEN, SCREEN),
        actions=chosen if threshold is None else NUMBERS,
        low=None if threshold is None else LOW,
        high=None if threshold is None else HIGH,
        max_steps=max_steps,
        simulation=partial(_built, game.name, sticky, full_actions, noops, threshold),
        source="Bellemare et al. 2013, as ale-py has it, in the pictures of Mnih et al. 2015",
        gymnasium=f"ALE/{_called(game.name)}-v5",
        dtype="uint8",
        stack=FRAMES,
        has_lives=True,
        packages=("ale_py", "gymnasium"),
    )


def _called(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _built(
    name: str, sticky: float, full_actions: bool, noops: int, threshold: float | None, copies: int
) -> Simulation:
    """Copies of the game.  Raises ConfigError if ale-py cannot be imported, or has no ROM of it."""
    try:
        from plasticity_lab.environments.atari.simulation import Atari
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"The game {name} needs ale-py, which cannot be imported here ({error}): pip install ale-py, or choose a "
            "benchmark that needs none, such as benchmark=games."
        ) from error
    try:
        return Atari(copies, name, sticky, full_actions, noops, threshold)
    except (AssertionError, RuntimeError, OSError) as error:
        raise ConfigError(
            f"ale-py has no ROM of {name} here ({str(error).splitlines()[0] if str(error) else 'it gives no reason'}): "
            "its wheel on PyPI brings them; pip install --force-reinstall ale-py."
        ) from error
