"""How far a score could be off where its bounds are percentiles of the very runs that are scored.

With other seeds not only an arm's runs would be others, but those of all arms, and with them what counts as 0 and as 1.
So whole runs of every arm are drawn again, the bounds are taken anew from what was drawn, and the runs are scored by
them. The standard error of that, with Student's t, gives the interval: percentiles of so few runs' replicates would be
too narrow (tests and docs/statistics.md say by how much).

Legend: N runs of an arm, C cycles, M environments, R replicates, T numbers of an aggregate.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from analysis.statistics.method import Method
from analysis.statistics.normalise import FLOOR, PERCENTILES, failed, scored
from analysis.statistics.streams import keyed

BLOCK = 2**20
"""How many returns are drawn at once, which bounds the memory. Another number here gives other draws."""


@dataclass(frozen=True)
class Spread:
    """replicates: arm → (R, T), of those replicates that have bounds. runs: arm → N."""

    replicates: Mapping[str, np.ndarray]
    runs: Mapping[str, int]

    def errors(self, arm: str) -> np.ndarray:
        """The standard error of each of an arm's numbers, (T,). Drawn runs vary less than runs do, by (N − 1) / N."""
        many = self.runs[arm]
        return self.replicates[arm].std(axis=0, ddof=1) * math.sqrt(many / (many - 1))

    def half_widths(self, arm: str, level: float) -> np.ndarray:
        """Half the width of the interval of each of an arm's numbers, (T,): Student's t with N − 1 degrees of freedom.

        NaN of one run, and where what was drawn does not vary.
        """
        import scipy.special  # slow to import; see `welch`

        many = self.runs[arm]
        if many < 2 or len(self.replicates[arm]) < 2:
            return np.full(self.replicates[arm].shape[1:], np.nan)
        errors = self.errors(arm)
        return np.where(errors > 0, scipy.special.stdtrit(many - 1.0, 0.5 + level / 2) * errors, np.nan)

    def p_of(self, arm: str, other: str, difference: np.ndarray) -> np.ndarray:
        """Two-sided p of whether the numbers of two arms, which lie that far apart, are the same, (T,); NaN of one run,
        and where what was drawn does not vary.

        As the bounds are the same for both, their differences vary less than they do.
        """
        import scipy.special  # slow to import; see `welch`

        many = min(self.runs[arm], self.runs[other])
        apart = self.replicates[arm] - self.replicates[other]
        if many < 2 or len(apart) < 2:
            return np.full(apart.shape[1:], np.nan)
        errors = apart.std(axis=0, ddof=1) * math.sqrt(many / (many - 1))
        return np.where(errors > 0, 2 * scipy.special.stdtr(many - 1.0, -np.abs(difference) / errors), np.nan)


def spread(
    returns: Mapping[str, np.ndarray],
    aggregate: Callable[[np.ndarray], np.ndarray],
    method: Method,
    floor: float = FLOOR,
    percentiles: tuple[float, float] = PERCENTILES,
) -> Spread:
    """The replicates of an aggregate of scores: arm → returns (C, N, M) of its runs; bounds are of the last cycle.

    aggregate: scores (R, C, N, M) → (R, T). method: with replicates and seed; seed and arm decide what is drawn.
    A replicate in whose runs some environment has no two returns has no bounds and is left out.
    """
    arms = {name: np.asarray(each, dtype=np.float64) for name, each in returns.items()}
    found: dict[str, list[np.ndarray]] = {name: [] for name in arms}
    for drawn in _drawn(arms, method):
        last = np.concatenate([each[:, -1] for each in drawn.values()], axis=1)
        low, high = np.percentile(np.where(failed(last, floor), floor, last), percentiles, axis=1)
        whole = (high > low).all(axis=-1)
        ends = low[whole, None, None], high[whole, None, None]
        for name, each in drawn.items():
            found[name].append(aggregate(scored(each[whole], *ends, floor)))
    return Spread(
        {name: np.concatenate(each) for name, each in found.items()}, {name: arm.shape[1] for name, arm in arms.items()}
    )


def _drawn(arms: Mapping[str, np.ndarray], method: Method) -> Iterator[dict[str, np.ndarray]]:
    """The replicates, block by block: of each arm an array (R, C, N, M) of runs that are drawn from its own, whole."""
    many, seed = method.replicates or 0, method.seed or 0
    size = max(1, BLOCK // sum(arm.size for arm in arms.values()))
    for first in range(0, many, size):
        rows = {
            name: keyed(seed, "runs", name, first).integers(0, arm.shape[1], (min(size, many - first), arm.shape[1]))
            for name, arm in arms.items()
        }
        yield {name: np.moveaxis(arm[:, rows[name]], 0, 1) for name, arm in arms.items()}
