"""The exact interval of a share: how many runs of all possible ones collapse, if k of n did."""


def clopper_pearson(many: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of the probability of an event that occurred `many` times in `of` independent runs.

    It covers with at least the level, for every probability and every number of runs; with few runs it is wide: 0 of 5
    has [0, 0.52]. For a lower probability than the low end, the same number of events or more has a probability below
    (1 − level) / 2; above the high end, the same number or fewer.

    Source: Clopper and Pearson 1934, by quantiles of the beta distribution.  Raises ValueError for no such count.
    """
    import scipy.special  # slow to import; see `two_groups`

    if not 0 <= many <= of or not of:
        raise ValueError(f"{many} of {of} is no share of runs.")
    tail = (1 - level) / 2
    low = 0.0 if many == 0 else float(scipy.special.betaincinv(many, of - many + 1, tail))
    high = 1.0 if many == of else float(scipy.special.betaincinv(many + 1, of - many, 1 - tail))
    return low, high
