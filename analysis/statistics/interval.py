"""The interval of a mean by Student's t."""

import math
from dataclasses import dataclass

from analysis.statistics.sample import Values, constant, sample, why_not


@dataclass(frozen=True)
class MeanInterval:
    """The mean of n values, and half the width of its interval; what there is not is None, as `reason` says why."""

    mean: float | None
    half_width: float | None
    n: int
    reason: str | None = None


def mean_interval(values: Values, level: float = 0.95) -> MeanInterval:
    """The mean of the values (n,) ± the quantile of Student's t × SD / √n; no width for fewer than two values."""
    import scipy.stats  # slow to import; see `welch`

    array = sample(values)
    if reason := why_not([array], least=1):
        return MeanInterval(None, None, len(array), reason)
    if len(array) < 2:
        return MeanInterval(float(array[0]), None, 1, "one value has no interval")
    sd = 0.0 if constant(array) else float(array.std(ddof=1))
    quantile = float(scipy.stats.t.ppf((1 + level) / 2, len(array) - 1))
    return MeanInterval(float(array.mean()), quantile * sd / math.sqrt(len(array)), len(array))
