"""The table of Atari games, their names and sets, and the constants that all of them share.

games.csv has each game's number of actions, and the sets that papers use: the 20 games of the SoftMoE papers, the 26 of
Atari 100k, the 60 of Dopamine (5 games of it have no human score).
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
"""Frames in an observation, and in a step."""
SCREEN = 84
"""Pixels of a frame's side."""
NUMBERS = 3
"""Numbers of a continuous action: the distance of the joystick, its direction, and whether to fire."""
THRESHOLD = 0.5
"""Default threshold above which a number of an action counts.  Source: Farebrother & Castro 2024."""
STICKY = 0.25
"""Default probability that a frame repeats the last action.  Source: Machado et al. 2018."""
MAX_STEPS = 27_000
"""Limit of an episode in steps: 108,000 frames, half an hour, as in Dopamine."""


@dataclass(frozen=True)
class Game:
    """name: the name in ale-py. actions: number in its minimal set. all_actions: number of joystick actions, 18 except
    for one game. sets: the members of SETS that contain it.
    """

    name: str
    actions: int
    all_actions: int
    sets: frozenset[str]

    @property
    def called(self) -> str:
        """Its name in Gymnasium: space_invaders is "SpaceInvaders"."""
        return "".join(part.capitalize() for part in self.name.split("_"))


@cache
def games() -> Mapping[str, Game]:
    """All games by name."""
    with FILE.open(newline="", encoding="utf-8") as file:
        return {line["game"]: _game(line) for line in csv.DictReader(file)}


def _game(line: Mapping[str, str]) -> Game:
    sets = frozenset(of for of in SETS if line[of] == "1")
    return Game(line["game"], int(line["actions"]), int(line["all_actions"]), sets)


def members(of: str) -> list[str]:
    """The names of the games of a set, in alphabetical order."""
    return [name for name, game in games().items() if of in game.sets]


def spellings() -> dict[str, list[str]]:
    """Other spellings → names: a set → its games, in alphabetical order; a name in Gymnasium → the game's name.

    Examples: "games26", and "ALE/Pong-v5", "Pong-v5", "PongNoFrameskip-v4", "Pong".
    """
    known = {of: members(of) for of in SETS}
    for name, game in games().items():
        called = game.called
        known |= {word: [name] for word in (f"ALE/{called}-v5", f"{called}-v5", f"{called}NoFrameskip-v4", called)}
    return known


def game_named(name: str) -> Game:
    """The game of that name.  Raises ConfigError, with the most similar names."""
    if name in games():
        return games()[name]
    near = get_close_matches(name.lower(), games(), n=3)
    meant = f"; did you mean {' or '.join(near)}?" if near else "."
    raise ConfigError(
        f"There is no Atari game '{name}'{meant} There are {len(games())}, and the sets {', '.join(SETS)}: "
        "plasticity_lab/environments/atari/games.csv lists them."
    )
