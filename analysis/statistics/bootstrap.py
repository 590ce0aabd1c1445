"""Stratified percentile bootstrap: the range of aggregates that other seeds in the same environments could give.

Source: Agarwal et al. 2021. Each environment is a stratum: its seeds are drawn again with replacement, and the
environments stay. The interval lies between percentiles of the aggregate over many such draws. With five seeds these
intervals are too narrow: their SD is too small by the factor √(4/5). Tests and
docs/pages/reference/coverage.md say by how much. The
papers use them; the intervals of `interval` have the nominal coverage.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Aggregate = Callable[..., np.ndarray]
"""Scores (..., N, M) for one or several arms → (...) or (..., T); the leading axes are replicates."""

REPLICATES = 50_000
BLOCK = 2**20
"""The number of scores drawn at once; it limits memory. Another number here gives other draws."""


@dataclass(frozen=True)
class Estimate:
    """An aggregate with its interval; arrays (T,) if the aggregate gives several numbers.

    Numbers are None if `reason` says why; a single seed gives a value and no interval.
    """

    value: float | np.ndarray | None = None
    low: float | np.ndarray | None = None
    high: float | np.ndarray | None = None
    reason: str | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Low and high of an aggregate that gives one number.  Raises TypeError for one that gives several."""
        return None if self.low is None or self.high is None else (float(self.low), float(self.high))


def bootstrap(
    aggregate: Aggregate,
    *scores_NM: np.ndarray,
    name: str,
    replicates: int | None = REPLICATES,
    level: float = 0.95,
    seed: int | None = 0,
) -> Estimate:
    """An aggregate with its interval, for the scores (N seeds, M environments) of one or several arms.

    name: names the arms, as in "relu". Seed and name decide which seeds are drawn, so an arm's interval does not depend
    on the other arms of a table.

    Raises ValueError for scores of another shape, and for arms with different environments.
    """
    arms = [np.asarray(scores, dtype=np.float64) for scores in scores_NM]
    if lacking := [arm.shape for arm in arms if arm.ndim != 2]:
        raise ValueError(f"Scores are (seeds, environments); these have the shape {lacking[0]}.")
    if len({arm.shape[1] for arm in arms}) != 1:
        raise ValueError(f"Arms are compared in the same environments; these have {[arm.shape for arm in arms]}.")
    if not all(arm.size and np.isfinite(arm).all() for arm in arms):
        return Estimate(reason="a score that is missing or not finite")
    value = _plain(aggregate(*arms))
    if min(len(arm) for arm in arms) < 2:
        return Estimate(value, reason="one seed leaves nothing to draw from")
    drawn = np.concatenate([aggregate(*block) for block in resampled(arms, name, replicates or REPLICATES, seed or 0)])
    tail = 50 * (1 - level)
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    return Estimate(value, _plain(low), _plain(high))


def resampled(
    arms: Sequence[np.ndarray], name: str, replicates: int = REPLICATES, seed: int = 0
) -> Iterator[list[np.ndarray]]:
    """The replicates in blocks: for each arm (N, M) an array (R, N, M); each column is drawn from the arm's column.

    The sum of R over the blocks is `replicates`. Each block has a separate random stream. The block size limits
    memory; another size gives other draws.
    """
    size = max(1, BLOCK // max(arm.size for arm in arms))
    for first in range(0, replicates, size):
        stream, many = keyed(seed, "bootstrap", name, first), min(size, replicates - first)
        yield [_drawn(arm, many, stream) for arm in arms]


def keyed(seed: int, *name: int | str) -> np.random.Generator:
    """A new generator for a seed and a name: equal arguments give equal numbers.

    Philox (Salmon et al. 2011), keyed with a hash of the arguments. `plasticity_lab.randomness` does the same for runs;
    analysis reads records and does not import the code that trains.
    """
    words = "/".join(["analysis", str(int(seed)), *map(str, name)])
    key = int.from_bytes(hashlib.blake2b(words.encode(), digest_size=16).digest(), "little")
    return np.random.Generator(np.random.Philox(key=key))


def _drawn(arm: np.ndarray, many: int, stream: np.random.Generator) -> np.ndarray:
    seeds, environments = arm.shape
    rows = stream.integers(0, seeds, size=(many, seeds, environments), dtype=np.uint16 if seeds < 2**16 else np.int64)
    return arm[rows, np.arange(environments)]


def _plain(value: np.ndarray) -> float | np.ndarray:
    return float(value) if np.ndim(value) == 0 else value


def above(scores_NM: np.ndarray, thresholds_T: np.ndarray) -> np.ndarray:
    """The part of all scores above each threshold: (..., N, M), (T,) → (..., T).

    Source: Agarwal et al. 2021, the run-score distribution, which pools the seeds of all environments.
    """
    scores = np.asarray(scores_NM, dtype=np.float64)
    return np.stack([(scores > threshold).mean(axis=(-2, -1)) for threshold in thresholds_T], axis=-1)


def profile(scores_NM: np.ndarray, thresholds_T: np.ndarray, name: str, replicates: int = REPLICATES) -> Estimate:
    """The performance profile of an arm's scores (N seeds, M environments): `above` at the thresholds, with its band.

    If one arm's profile lies above another's everywhere, it is better by every summary; if they cross, the better arm
    depends on the summary. The band is made for each threshold separately, not for all of them at once.
    name: the arm's name.  Raises ValueError for scores of another shape.
    """
    return bootstrap(lambda scores: above(scores, thresholds_T), scores_NM, name=name, replicates=replicates)
