"""Random numbers of many games at once: each a function of its game's key and of how many came before, nothing else.

Legend: M games, E of them that begin anew.
"""

import numpy as np
from numpy.typing import NDArray

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
        """These games (E,) begin anew, with keys (E,) of their own."""
        self.keys[games], self.taken[games] = keys, 0

    def uniform(self, games: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """The next number of these games, in [0, 1), (E,); None: of all, (M,)."""
        at = slice(None) if games is None else games
        self.taken[at] += np.uint64(1)
        bits = self.keys[at] + self.taken[at] * GOLDEN
        bits = (bits ^ (bits >> np.uint64(30))) * FIRST
        bits = (bits ^ (bits >> np.uint64(27))) * SECOND
        bits ^= bits >> np.uint64(31)
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, below: int, games: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The next whole number of each, from 0 to below − 1."""
        return (self.uniform(games) * below).astype(np.int64)
