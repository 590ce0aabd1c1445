"""A range in which a setting's best value is searched, as Hydra's grammar writes it.

`interval(0,1)`; `int(interval(4,16))`, whole numbers; `tag(log,interval(1e-5,1e-2))`, searched in its logarithm.
"""

import re
from math import isfinite

from hydra.core.override_parser.types import IntervalSweep

from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.space import LOG, Range

_ENDS = re.compile(r"interval\(([^()]*)\)")
_NUMBER = re.compile(r"[-+]?[\d_]*\.?\d[\d_]*(?:[eE][-+]?\d+)?")


def range_of(sweep: IntervalSweep, word: str) -> Range:
    """The range that a word gives.  Raises ConfigError for one that holds nothing, or cannot be searched as it says."""
    low, high = sweep.start, sweep.end
    whole = isinstance(low, int) and isinstance(high, int)
    if whole and (part := next((end for end in _ends(word) if float(end) % 1), None)):
        raise ConfigError(
            f"'{word}' has the end {part}, which is no whole number; a range of whole numbers has two of them, the "
            "lower one first: int(interval(2,8))."
        )
    if low is None or high is None or not (isfinite(low) and isfinite(high)) or low >= high:
        raise ConfigError(f"'{word}' is no range; one has two finite numbers, the lower one first: interval(0,1).")
    if unknown := sorted(tag for tag in sweep.tags if tag != LOG):
        raise ConfigError(f"'{word}' has the tag {unknown[0]}; a range can have the tag {LOG}, and no other.")
    if LOG in sweep.tags and low <= 0:
        raise ConfigError(f"'{word}' begins at {low:g}, which has no logarithm; a range with {LOG} begins above 0.")
    return Range(low, high, LOG in sweep.tags, whole)


def _ends(word: str) -> list[str]:
    """The numbers as typed: Hydra has cut their decimals off when it makes whole numbers of them."""
    found = _ENDS.search(word)
    return _NUMBER.findall(found[1]) if found else []
