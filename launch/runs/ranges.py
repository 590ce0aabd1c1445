"""A range in which a setting's best value is searched, as Hydra's grammar writes it.

`interval(0,1)`; `int(interval(4,16))`, whole numbers; `tag(log,interval(1e-5,1e-2))`, searched in its logarithm.
"""

from dataclasses import dataclass
from math import isfinite

from hydra.core.override_parser.types import IntervalSweep

from plasticity_lab.errors import ConfigError

LOG = "log"
DIGITS = 4
"""Significant digits of a value that is tried: more would change no result, and nobody could type them."""


@dataclass(frozen=True)
class Range:
    """The numbers from low to high, both included.  log: searched in their logarithm. whole: whole numbers alone."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __str__(self) -> str:
        numbers = (f"{int(end)}" if self.whole else f"{end:g}" for end in (self.low, self.high))
        words = f"interval({','.join(numbers)})"
        words = f"int({words})" if self.whole else words
        return f"tag({LOG},{words})" if self.log else words

    def rounded(self, value: float) -> float | int:
        """A value of the range as it is tried: whole, or with DIGITS significant digits."""
        if self.whole:
            return int(value)
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    @property
    def probes(self) -> list[float | int]:
        """Its ends and a number between: what a component refuses of them is wrong before anything is trained."""
        between = (self.low * self.high) ** 0.5 if self.log else self.low + 0.6180339887 * (self.high - self.low)
        ends = [int(self.low), int(self.high)] if self.whole else [self.low, self.high]
        return [*ends, self.rounded(between)]


def range_of(sweep: IntervalSweep, word: str) -> Range:
    """The range that a word gives.  Raises ConfigError for one that holds nothing, or cannot be searched as it says."""
    low, high = sweep.start, sweep.end
    if low is None or high is None or not (isfinite(low) and isfinite(high)) or low >= high:
        raise ConfigError(f"'{word}' is no range; one has two finite numbers, the lower one first: interval(0,1).")
    if unknown := sorted(tag for tag in sweep.tags if tag != LOG):
        raise ConfigError(f"'{word}' has the tag {unknown[0]}; a range can have the tag {LOG}, and no other.")
    if LOG in sweep.tags and low <= 0:
        raise ConfigError(f"'{word}' begins at {low:g}, which has no logarithm; a range with {LOG} begins above 0.")
    return Range(low, high, LOG in sweep.tags, isinstance(low, int) and isinstance(high, int))
