"""Which setting is the best, as the paper chooses it: by its mean over the seeds on which settings can be compared."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Generic, Protocol, TypeVar


class Ordered(Hashable, Protocol):
    """What can be a key, and sorted."""

    def __lt__(self, other: Any, /) -> bool:
        """Whether it comes first."""
        ...


Setting = TypeVar("Setting", bound=Ordered)
Seed = TypeVar("Seed", bound=Ordered)
Results = Mapping[Setting, Mapping[Seed, float | None]]
"""Of each setting its value at each seed; None, or what is not finite, where the run diverged or lacks the value."""


@dataclass(frozen=True)
class Best(Generic[Setting, Seed]):
    """The best setting with its mean over the seeds that it was chosen on.

    settings: how many were compared. left_out: how many were not, since they lack some of these seeds.
    """

    setting: Setting
    mean: float
    seeds: Sequence[Seed]
    settings: int
    left_out: int


def best_setting(results: Results[Setting, Seed], better: str = "more") -> Best[Setting, Seed] | None:
    """The setting with the best mean over seeds; None if there is none with a value on all of them.

    better: "less" where the lowest mean is the best, else the highest is. Of equals the first by name wins, so that the
    order of `results` does not count.
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


def compared_on(results: Results[Setting, Seed]) -> tuple[list[Seed], list[Setting]]:
    """The seeds on which settings are compared, and the settings that have them all; both sorted.

    Settings are compared on the same seeds: those on which the most runs can be compared, of equal choices the one
    with the most seeds. A setting that diverged on one of them is compared, and cannot win.
    """

    def having(seeds: frozenset[Seed]) -> list[Setting]:
        return sorted(setting for setting, by_seed in results.items() if seeds <= by_seed.keys())

    choices = sorted({frozenset(by_seed) for by_seed in results.values()}, key=sorted)
    if not choices:
        return [], []
    seeds = max(choices, key=lambda each: (len(each) * len(having(each)), len(each)))
    return sorted(seeds), having(seeds)
