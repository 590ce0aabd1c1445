"""The best setting of a grid, as the paper chooses it, and the selection bias of its mean.

The paper chooses the best of a grid on the seeds that it reports. The winner's mean is then too good: if all settings
are the same, one still has the luckiest seeds. `selection_bias` chooses on half of the seeds and reports on the others.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from analysis.statistics.bootstrap import keyed

SPLITS = 1000
"""The most splits of the seeds that are tried: all of them up to 12 seeds, C(12, 6) = 924."""


Results = Mapping[Any, Mapping[Any, float | None]]
"""Setting → seed → value; None, or not finite, if the run diverged or lacks the value. Both keys can be sorted."""


@dataclass(frozen=True)
class Best:
    """The best setting with its mean over the seeds that it was chosen on.

    settings: the number of compared settings. left_out: the number of other settings; they lack some of these seeds.
    """

    setting: Any
    mean: float
    seeds: Sequence[Any]
    settings: int
    left_out: int


def best_setting(results: Results, better: str = "more") -> Best | None:
    """The setting with the best mean over seeds; None if no setting has a value on all of them.

    better: "less" if the lowest mean is best, otherwise the highest. Among equal means the first setting by name wins,
    so the order of `results` does not matter.
    """
    seeds, compared = compared_on(results)
    means = {}
    for setting in compared:
        values = [results[setting][seed] for seed in seeds]
        finite = [value for value in values if value is not None and math.isfinite(value)]
        if len(finite) == len(values):
            means[setting] = fmean(finite)
    if not means:
        return None
    choose = min if better == "less" else max
    winner = choose(means, key=lambda setting: means[setting])  # the first of equals
    return Best(winner, means[winner], seeds, len(compared), len(results) - len(compared))


def compared_on(results: Results) -> tuple[list[Any], list[Any]]:
    """The seeds used to compare settings, and the settings that have all these seeds; both sorted.

    Settings are compared on the same seeds. The set of seeds is chosen that compares the most runs; among equal sets,
    the one with the most seeds. A setting that diverged on one of the seeds is compared but cannot win.
    """

    def having(seeds: frozenset[Any]) -> list[Any]:
        return sorted(setting for setting, by_seed in results.items() if seeds <= by_seed.keys())

    choices = sorted({frozenset(by_seed) for by_seed in results.values()}, key=sorted)
    if not choices:
        return [], []
    seeds = max(choices, key=lambda each: (len(each) * len(having(each)), len(each)))
    return sorted(seeds), having(seeds)


@dataclass(frozen=True)
class SelectionBias:
    """The value of the best setting, as published and on other seeds.

    settings, seeds: the compared numbers; left_out: settings with a value that is not finite. chosen: the index of
    the setting that is best on all seeds. as_published: its mean on them. honest: the mean over splits of the value
    that the setting chosen on one half has on the other. bias: how much the published mean is better, in the metric's
    direction: above 0, it is too good. agreement: the part of splits that choose `chosen`. splits: their number.
    Numbers are None if `reason` says why.
    """

    settings: int
    seeds: int
    left_out: int
    chosen: int | None = None
    as_published: float | None = None
    honest: float | None = None
    bias: float | None = None
    agreement: float | None = None
    splits: int = 0
    reason: str | None = None


def selection_bias(values_SN: np.ndarray, name: str, better: str = "more") -> SelectionBias:
    """The bias of choosing among S settings by their values at N seeds, (S, N).

    Each split chooses on ⌊N / 2⌋ seeds and reports on the others. All splits are used if they are at most `SPLITS`
    (10 with five seeds); otherwise `SPLITS` splits are drawn with repetition, and `name` seeds the draw. Among equal
    settings the first wins. A setting with a value that is not finite cannot win and is left out.

    Raises ValueError for values of another shape.
    """
    values = np.asarray(values_SN, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"Values are (settings, seeds); these have the shape {values.shape}.")
    whole = np.flatnonzero(np.isfinite(values).all(axis=1))
    seeds, left_out = values.shape[1], len(values) - len(whole)
    if seeds < 2:
        return SelectionBias(len(whole), seeds, left_out, reason="fewer than two seeds")
    if not len(whole):
        return SelectionBias(0, seeds, left_out, reason="no setting with a value at every seed")
    sign = -1.0 if better == "less" else 1.0
    known = sign * values[whole]
    chooses_PN = _splits(seeds, name)
    half = seeds // 2
    winners_P = (known @ chooses_PN.T / half).argmax(axis=0)
    reports_SP = known @ ~chooses_PN.T / (seeds - half)
    honest = float(reports_SP[winners_P, np.arange(len(winners_P))].mean())
    means = known.mean(axis=1)
    best = int(means.argmax())
    return SelectionBias(
        len(whole),
        seeds,
        left_out,
        chosen=int(whole[best]),
        as_published=sign * float(means[best]),
        honest=sign * honest,
        bias=float(means[best]) - honest,
        agreement=float((winners_P == best).mean()),
        splits=len(chooses_PN),
    )


def _splits(seeds: int, name: str) -> np.ndarray:
    """The seeds that each split chooses on: (P, N) bool; each row has half of the seeds (rounded down)."""
    half = seeds // 2
    if math.comb(seeds, half) <= SPLITS:
        chosen = np.array(list(combinations(range(seeds), half)))
    else:
        chosen = keyed(0, "splits", name).permuted(np.tile(np.arange(seeds), (SPLITS, 1)), axis=1)[:, :half]
    chooses = np.zeros((len(chosen), seeds), dtype=bool)
    np.put_along_axis(chooses, chosen, True, axis=1)
    return chooses
