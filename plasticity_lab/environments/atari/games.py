"""The table of Atari games, their names and sets, and the numbers that hold for all of them.

games.csv has how many actions each knows, and the sets that papers use: the 20 games of the SoftMoE papers, the 26 of
Atari 100k, the 60 of Dopamine (5 of which have no human score).
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from plasticity_lab.errors import ConfigError

FILE = Path(__file__).with_name("games.csv")
SETS = ("games20", "games26", "games60")
FRAMES = 4
"""Of an observation, and of a step."""
SCREEN = 84
"""Pixels of a frame's side."""
NUMBERS = 3
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

    @property
    def called(self) -> str:
        """What Gymnasium calls it: «SpaceInvaders» is space_invaders."""
        return "".join(part.capitalize() for part in self.name.split("_"))


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
    known = {of: members(of) for of in SETS}
    for name, game in games().items():
        called = game.called
        known |= {word: [name] for word in (f"ALE/{called}-v5", f"{called}-v5", f"{called}NoFrameskip-v4", called)}
    return known


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
