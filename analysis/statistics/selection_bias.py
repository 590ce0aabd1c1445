"""How much of the best setting's mean is luck: chosen on half of the seeds, it is reported on the other half.

The paper chooses the best of a grid on the seeds that it reports. The winner's mean is then too good: of settings that
are all the same, one always has the luckiest seeds.
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.statistics.streams import keyed

SPLITS = 1000
"""How many splits of the seeds are looked at, at most: all of them up to 12 seeds, C(12, 6) = 924."""


@dataclass(frozen=True)
class SelectionBias:
    """The best setting both ways.

    chosen: the index of the setting that is best on all seeds. as_published: its mean on them. honest: the mean over
    splits of what the setting chosen on one half has on the other. bias: how much better the former is than the latter,
    in the metric's own direction: more than 0 flatters. agreement: the part of splits that choose `chosen`. splits: how
    many there were. settings, seeds: what was compared; left_out: settings with a value that is not finite.
    The numbers are None where `reason` says why.
    """

    chosen: int | None
    as_published: float | None
    honest: float | None
    bias: float | None
    agreement: float | None
    splits: int
    settings: int
    seeds: int
    left_out: int
    reason: str | None = None


def selection_bias(
    values_SN: np.ndarray, name: str, better: str = "more", splits: int = SPLITS, seed: int = 0
) -> SelectionBias:
    """The bias of choosing among S settings by their values at N seeds, (S, N).

    The choosing half is ⌊N / 2⌋ seeds, the reporting half the others: all such splits where there are at most `splits`
    (with five seeds 10), else as many drawn by (seed, name), without two alike being avoided. Of equals the first wins.
    A setting with a value that is not finite can win nowhere and is left out.

    Raises ValueError for values of another shape.
    """
    values = np.asarray(values_SN, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"Values are (settings, seeds); these have the shape {values.shape}.")
    whole = np.flatnonzero(np.isfinite(values).all(axis=1))
    seeds, left_out = values.shape[1], len(values) - len(whole)
    reason = (
        "fewer than two seeds" if seeds < 2 else "no setting with a value at every seed" if not len(whole) else None
    )
    if reason:
        return SelectionBias(None, None, None, None, None, 0, len(whole), seeds, left_out, reason)
    sign = -1.0 if better == "less" else 1.0
    known = sign * values[whole]
    chooses_PN = _splits(seeds, splits, name, seed)
    half = seeds // 2
    winners_P = (known @ chooses_PN.T / half).argmax(axis=0)
    reports_SP = known @ ~chooses_PN.T / (seeds - half)
    honest = float(reports_SP[winners_P, np.arange(len(winners_P))].mean())
    means = known.mean(axis=1)
    chosen = int(means.argmax())
    return SelectionBias(
        chosen=int(whole[chosen]),
        as_published=sign * float(means[chosen]),
        honest=sign * honest,
        bias=float(means[chosen]) - honest,
        agreement=float((winners_P == chosen).mean()),
        splits=len(chooses_PN),
        settings=len(whole),
        seeds=seeds,
        left_out=left_out,
    )


def _splits(seeds: int, most: int, name: str, seed: int) -> np.ndarray:
    """Which seeds choose, in each split: (P, N) bool, half of them (rounded down) in each row."""
    half = seeds // 2
    if math.comb(seeds, half) <= most:
        chosen = np.array(list(combinations(range(seeds), half)))
    else:
        chosen = keyed(seed, "splits", name).permuted(np.tile(np.arange(seeds), (most, 1)), axis=1)[:, :half]
    chooses = np.zeros((len(chosen), seeds), dtype=bool)
    np.put_along_axis(chooses, chosen, True, axis=1)
    return chooses
