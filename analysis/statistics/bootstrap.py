"""Stratified percentile bootstrap: what an aggregate might have been with other seeds in the same environments.

Source: Agarwal et al. 2021. Each environment is a stratum: its seeds are drawn again with replacement, as many as there
were, and the environments stay. The interval is what lies between percentiles of the aggregate over many such draws.
With five seeds such intervals are too narrow (the SD that they see is short by √(4/5)): tests say by how much, and so
does docs/statistics.md. The papers have them; `interval` is what covers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.streams import keyed

Aggregate = Callable[..., np.ndarray]
"""Scores (..., N, M), of one arm or of several, → (...) or (..., T): the leading axes are replicates."""

REPLICATES = 50_000
BLOCK = 2**20
"""How many scores are drawn at once, which bounds the memory. Another number here gives other draws."""


@dataclass(frozen=True)
class Estimate:
    """An aggregate with its interval; arrays (T,) where the aggregate gives several numbers.

    shapes: (seeds, environments) of each arm. value, low and high are None where `reason` says why; of a single seed
    there is a value and no interval.
    """

    value: float | np.ndarray | None
    low: float | np.ndarray | None
    high: float | np.ndarray | None
    level: float
    shapes: tuple[tuple[int, int], ...]
    replicates: int
    reason: str | None = None

    @property
    def number(self) -> float:
        """The value of an aggregate that gives one number.  Raises TypeError where there is none, or several."""
        if not isinstance(self.value, float):
            raise TypeError(f"The aggregate is no number, but {self.value}.")
        return self.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Low and high of an aggregate that gives one number.  Raises TypeError of one that gives several."""
        return None if self.low is None or self.high is None else (float(self.low), float(self.high))


def bootstrap(
    aggregate: Aggregate,
    *scores_NM: np.ndarray,
    name: str,
    replicates: int = REPLICATES,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The aggregate of one arm's scores (N seeds, M environments), or of several arms', with its interval.

    name: whose scores they are, as in "relu". Seed and name decide which seeds are drawn, so an arm's interval does not
    depend on which others stand beside it in a table.

    Raises ValueError for scores of another shape, and for arms with different environments.
    """
    arms = [_matrix(each) for each in scores_NM]
    if len({arm.shape[1] for arm in arms}) != 1:
        raise ValueError(f"Arms are compared in the same environments; these have {[arm.shape for arm in arms]}.")
    shapes = tuple(arm.shape for arm in arms)
    if not all(arm.size and np.isfinite(arm).all() for arm in arms):
        reason = "a score that is missing or not finite"
        return Estimate(None, None, None, level, shapes, 0, reason)
    value = _plain(aggregate(*arms))
    if min(len(arm) for arm in arms) < 2:
        return Estimate(value, None, None, level, shapes, 0, "one seed leaves nothing to draw from")
    drawn = np.concatenate([aggregate(*block) for block in resampled(arms, name, replicates, seed)])
    tail = 50 * (1 - level)
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    return Estimate(value, _plain(low), _plain(high), level, shapes, replicates)


def resampled(
    arms: Sequence[np.ndarray], name: str, replicates: int = REPLICATES, seed: int = 0
) -> Iterator[list[np.ndarray]]:
    """The replicates, block by block: of each arm (N, M) an array (R, N, M) whose columns are drawn from its own.

    The blocks' R add up to `replicates`; every block has numbers of its own, so their size bounds the memory alone.
    """
    size = max(1, BLOCK // max(arm.size for arm in arms))
    for first in range(0, replicates, size):
        stream, many = keyed(seed, "bootstrap", name, first), min(size, replicates - first)
        yield [_drawn(arm, many, stream) for arm in arms]


def _drawn(arm: np.ndarray, many: int, stream: np.random.Generator) -> np.ndarray:
    seeds, environments = arm.shape
    rows = stream.integers(0, seeds, size=(many, seeds, environments), dtype=np.uint16 if seeds < 2**16 else np.int64)
    return arm[rows, np.arange(environments)]


def _matrix(scores: np.ndarray) -> np.ndarray:
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"Scores are (seeds, environments); these have the shape {array.shape}.")
    return array


def _plain(value: np.ndarray) -> float | np.ndarray:
    return float(value) if np.ndim(value) == 0 else value
