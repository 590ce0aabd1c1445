"""The Plasticity Score: the interquartile mean of normalised returns, over seeds and environments, by activation."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.statistics.bootstrap import Estimate, bootstrap
from analysis.statistics.iqm import iqm
from analysis.statistics.method import SCORE, Method
from analysis.statistics.normalise import FLOOR, PERCENTILES, Normalised, normalise


@dataclass(frozen=True)
class PlasticityScores:
    """scores: arm → the score with its interval; empty where `normalised.reason` says why.

    normalised: the scores of runs that they are made of, the returns that became 0 and 1, and how many runs failed;
    they depend on which arms are compared, and are shown with every score.
    """

    scores: Mapping[str, Estimate]
    normalised: Normalised


def plasticity_scores(
    returns: Mapping[str, np.ndarray],
    floor: float = FLOOR,
    percentiles: tuple[float, float] = PERCENTILES,
    method: Method = SCORE,
) -> PlasticityScores:
    """The scores of all arms that are compared: arm → returns over the last part of each environment's last stage, (N
    seeds, M environments). method: by what their intervals are made.

    Raises ValueError as `normalise` does.  Source: the paper's Section 7, Tables 3 and F1.
    """
    normalised = normalise(returns, floor, percentiles)
    scores = normalised.scores or {}
    told = {"replicates": method.replicates, "level": method.level, "seed": method.seed}
    return PlasticityScores(
        {arm: bootstrap(iqm, values, name=arm, **told) for arm, values in scores.items()}, normalised
    )
