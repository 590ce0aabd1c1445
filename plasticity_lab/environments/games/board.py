"""The base class of games on boards of 10 × 10: channels, one set of actions, sticky actions, levels.

Legend: M games, E games that start an episode, C channels of a board.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Saved

SIDE = 10
"""Rows and columns of a board."""
WHITE = 255
"""Value of a cell that contains an object of the channel's kind; all other cells are 0."""
NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
ACTIONS = ("nothing", "left", "up", "right", "down", "fire")
"""All actions, in their order."""

Bits = NDArray[np.bool_]
Whole = NDArray[np.int64]


class Board:
    """M games of one kind, stepped together, in arrays with the game as first axis.

    full: whether an action is one of all six (actions unknown to the game do nothing), and boards have as many channels
    as the game with the most (`padded`), so that games can follow one another in one network. Otherwise an action is
    one of the game's `actions`, and boards have the game's channels. sticky: probability that the last action is
    repeated instead of a new one. ramping: whether a game becomes harder over time. Final classes declare `actions`,
    `channels` and `fields` (name → shape and type for one game), and write `begin`, `move` and `draw`. `chance` draws
    random numbers, as a function of the game's key and of the number of earlier draws.
    """

    actions: ClassVar[Sequence[int]]
    channels: ClassVar[Sequence[str]]
    fields: ClassVar[Mapping[str, tuple[tuple[int, ...], type]]]

    def __init__(
        self, games: int, full: bool = False, padded: int = 0, sticky: float = 0.1, ramping: bool = True
    ) -> None:
        self.known = np.arange(len(ACTIONS)) if full else np.array(self.actions)
        self.shown, self.sticky, self.ramping = padded if full else len(self.channels), sticky, ramping
        self.every = np.arange(games)
        self.chance, self.last = Chance(games), np.zeros(games, np.int64)
        self.now = {name: np.zeros((games, *shape), kind) for name, (shape, kind) in self.fields.items()}
        """The state of the games, name → (M, ...)."""

    def start(self, copies: Whole, streams: Sequence[np.random.Generator]) -> NDArray[np.uint8]:
        """Starts an episode in these games (E,); returns their boards, (E, C, 10, 10)."""
        keys = np.array([stream.bit_generator.random_raw() for stream in streams], np.uint64)
        self.chance.begin(copies, keys)
        self.last[copies] = NOTHING
        for values in self.now.values():
            values[copies] = 0
        self.begin(copies)
        return self._boards()[copies]

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float64], Bits]:
        """A step of every game, actions (M,): boards (M, C, 10, 10), rewards (M,), which are lost (M,)."""
        wanted = self.known[actions]
        if self.sticky:
            wanted = np.where(self.chance.uniform() < self.sticky, self.last, wanted)
        self.last = wanted
        rewards, lost = np.zeros(len(wanted)), np.zeros(len(wanted), np.bool_)
        self.move(wanted, rewards, lost)
        return self._boards(), rewards, lost

    def state(self) -> dict[str, Saved]:
        """The state of the games, their last actions, and the state of `chance`."""
        found: dict[str, Saved] = {name: values.copy() for name, values in self.now.items()}
        found["last"] = self.last.copy()
        found["keys"], found["taken"] = self.chance.keys.copy(), self.chance.taken.copy()
        return found

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes back to what `state` gave."""
        self.now = {name: state[name].copy() for name in self.now}
        self.last = state["last"].copy()
        self.chance.keys, self.chance.taken = state["keys"].copy(), state["taken"].copy()

    def begin(self, games: Whole) -> None:
        """Sets the initial state of these games (E,); all fields are 0 before."""
        raise NotImplementedError

    def move(self, actions: Whole, rewards: NDArray[np.float64], lost: Bits) -> None:
        """One step of all games.  actions: of `ACTIONS`, (M,). rewards, lost (M,): 0 and False, to be written into."""
        raise NotImplementedError

    def draw(self, boards: Bits) -> None:
        """Marks the cells with objects, in boards (M, C, 10, 10), which are all False before."""
        raise NotImplementedError

    def _boards(self) -> NDArray[np.uint8]:
        """All boards, (M, C, 10, 10)."""
        boards = np.zeros((len(self.every), self.shown, SIDE, SIDE), np.bool_)
        self.draw(boards)
        return boards.view(np.uint8) * np.uint8(WHITE)


def moved(place: Whole, actions: Whole, less: int, more: int, low: int = 0, high: int = SIDE - 1) -> Whole:
    """A row or column (M,) after an action: one less or one more, limited to the board."""
    return limited(place - (actions == less) + (actions == more), low, high)


def limited(values: NDArray[Any], low: int = 0, high: int = SIDE - 1) -> NDArray[Any]:
    """The numbers limited to low … high: `np.clip`, which takes five times as long for few of them."""
    return np.minimum(np.maximum(values, low), high)


# Random numbers of many games at once. Each is a function only of its game's key and of the number of earlier draws.
#
# Legend: M games, E games that start an episode.

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Chance:
    """Uniform numbers for M games, whatever their number; no generator is kept.

    A game's key is drawn when it begins; its n-th number is the n-th of SplitMix64 begun with that key (Steele, Lea &
    Flood 2014), the upper 53 bits of it.
    """

    def __init__(self, games: int) -> None:
        self.keys, self.taken = np.zeros(games, np.uint64), np.zeros(games, np.uint64)

    def begin(self, games: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
        """Starts these games (E,) with new keys (E,)."""
        self.keys[games], self.taken[games] = keys, 0

    def uniform(self, games: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """The next number of each of these games, in [0, 1), (E,); None: all games, (M,)."""
        at = slice(None) if games is None else games
        self.taken[at] += np.uint64(1)
        bits = self.keys[at] + self.taken[at] * GOLDEN
        bits = (bits ^ (bits >> np.uint64(30))) * FIRST
        bits = (bits ^ (bits >> np.uint64(27))) * SECOND
        bits ^= bits >> np.uint64(31)
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, below: int, games: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The next whole number of each game, from 0 to below − 1."""
        return (self.uniform(games) * below).astype(np.int64)
