"""How often a table warns of a gap or of skewed runs: simulated stores of several arms, by law and number of seeds.

`python -m analysis coverage --warnings` simulates them. Each arm has another mean and another scale. A store of a law
with collapses counts if one run of the store collapsed and one did not; without a collapse there is nothing to see.
"""

from dataclasses import dataclass

import numpy as np

from analysis.coverage.further import BELOW, FURTHER
from analysis.statistics.bootstrap import keyed
from analysis.statistics.shape import looks

ARMS, SEEDS = (1, 4, 8), (3, 5, 10, 20)
COLLAPSES = "one seed in ten collapses"
LAWS = ("normal", COLLAPSES, "two equal humps", "lognormal 1.5", "heavy tails")
"""The laws of the stores, from `FURTHER`."""


@dataclass(frozen=True)
class Warned:
    """The fraction of stores with a warning.  gap: stores with a gap. any: stores with a gap or skewed runs."""

    law: str
    arms: int
    seeds: int
    stores: int
    gap: float
    any: float


def warned(law: str, arms: int, seeds: int, stores: int, seed: int) -> Warned:
    """Simulates stores of a law."""
    stream = keyed(seed, "warned", law, arms, seeds)
    gaps = either = 0
    for _ in range(stores):
        found = looks({f"{at}": values.tolist() for at, values in enumerate(_store(law, arms, seeds, stream))})
        gaps += bool(found.gaps)
        either += bool(found.gaps) or found.skewed != 0
    return Warned(law, arms, seeds, stores, gaps / stores, either / stores)


def _store(law: str, arms: int, seeds: int, stream: np.random.Generator) -> np.ndarray:
    """The runs, (arms, seeds)."""
    while True:
        runs = FURTHER[law].draw(stream, (arms, seeds))
        fell = (runs < BELOW).any(axis=1) & (runs >= BELOW).any(axis=1)
        if law != COLLAPSES or fell.any():
            break
    means, scales = stream.normal(size=(arms, 1)), np.exp(stream.normal(size=(arms, 1)))
    return 80 + 10 * means + scales * runs
