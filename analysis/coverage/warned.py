"""How often a table warns of a gap or of skewed runs: simulated stores of several arms, by law and number of seeds.

`python -m analysis coverage --warnings` simulates them. Each arm has another mean and another SD. A store of a law
with collapses counts if one run of the store collapsed and one did not; without a collapse there is nothing to see.
"""

from dataclasses import dataclass

import numpy as np

from analysis.coverage.further import BELOW, FURTHER
from analysis.statistics.bootstrap import keyed
from analysis.statistics.shape import looks

ARMS = (1, 2, 4, 8)
SIZES = ((3, 0.0), (3, 0.5), (3, 1.0), (5, 1.0), (10, 1.0), (20, 1.0))
"""The number of seeds, and the SD of the logarithms of the arms' SDs."""
COLLAPSES = "one seed in ten collapses"
LAWS = ("normal", COLLAPSES, "two kinds of collapse", "two equal humps", "lognormal 1.5", "heavy tails")
"""The laws of the stores, from `FURTHER`."""


@dataclass(frozen=True)
class Warned:
    """The fraction of stores with a warning.  gap: stores with a gap. any: stores with a gap or skewed runs.

    unequal: the SD of the logarithms of the arms' SDs.
    """

    law: str
    arms: int
    seeds: int
    unequal: float
    stores: int
    gap: float
    any: float


def warned(law: str, arms: int, seeds: int, unequal: float, stores: int, seed: int) -> Warned:
    """Simulates stores of a law."""
    stream = keyed(seed, "warned", law, arms, seeds, str(unequal))
    gaps = either = 0
    for _ in range(stores):
        found = looks({f"{at}": values.tolist() for at, values in enumerate(_store(law, arms, seeds, unequal, stream))})
        gaps += bool(found.gaps)
        either += bool(found.gaps) or found.skewed != 0
    return Warned(law, arms, seeds, unequal, stores, gaps / stores, either / stores)


def _store(law: str, arms: int, seeds: int, unequal: float, stream: np.random.Generator) -> np.ndarray:
    """The runs, (arms, seeds)."""
    while True:
        runs = FURTHER[law].draw(stream, (arms, seeds))
        fell = (runs < BELOW).any(axis=1) & (runs >= BELOW).any(axis=1)
        if law != COLLAPSES or fell.any():
            break
    means, scales = stream.normal(size=(arms, 1)), np.exp(unequal * stream.normal(size=(arms, 1)))
    return 80 + 10 * means + scales * runs
