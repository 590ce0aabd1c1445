"""How many values a word names and how many runs a command: measured before they are written out."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, inf, prod
from typing import Any

from hydra.core.override_parser.types import Glob, Override, RangeSweep, Sweep

from launch.runs.words import plain
from plasticity_lab.errors import ConfigError

MOST_RUNS = 1_000_000
"""The most runs of one command: they take some 4 GiB and two minutes to be planned."""


def values_of(override: Override, word: str) -> list[Any]:
    """The values of a sweep, in order.  Raises ConfigError where it is none, names none or too many."""
    sweep, key = override.value(), override.key_or_group
    if not override.is_discrete_sweep() or isinstance(sweep, Glob):
        raise ConfigError(f"'{word}' is not a list of values; write {key}=one,other or =range(0,5).")
    if isinstance(sweep, RangeSweep):
        check_count({key: _length(sweep, word)})
        # Of range(0,1,0.5) it is 0.5 that is no seed, and not 0.
        return [
            int(value) if isinstance(value, float) and value.is_integer() else value
            for value in override.sweep_iterator()
        ]
    if any(isinstance(value, Sweep | Glob) for value in sweep.list):
        raise ConfigError(f"'{word}' has a range or a pattern beside other values; give it alone, or each value.")
    check_count({key: len(sweep.list)})
    return [plain(value) for value in override.sweep_iterator()]


def check_count(axes: Mapping[str, int]) -> None:
    """Raises ConfigError where the product of the axes, key → number of its values, is more than a command may name."""
    total = prod(axes.values())
    if total <= MOST_RUNS:
        return
    factors = sorted(((count, key) for key, count in axes.items() if count > 1), reverse=True)
    product = " × ".join(f"{_large(count)} of {key}" for count, key in factors)
    raise ConfigError(
        f"This command names {_large(total)} runs ({product}), and a command may name {MOST_RUNS:,}; give fewer "
        "values, or several commands."
    )


def _length(sweep: RangeSweep, word: str) -> int:
    start, stop, step = sweep.start or 0, sweep.stop, sweep.step
    if not all(abs(number) < inf for number in (start, stop, step)) or step == 0:
        raise ConfigError(
            f"'{word}' cannot be counted: a range takes finite numbers and a step other than 0, as in range(0,5) or "
            "range(0.1,0.5,0.1)."
        )
    count = max(0, ceil((Fraction(stop) - Fraction(start)) / Fraction(step)))
    if count == 0:
        towards = f"; from {start} to {stop} the step has to be {'above' if stop > start else 'below'} 0"
        raise ConfigError(f"'{word}' names no value at all{towards if start != stop else ''}.")
    return count


def _large(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "more than a million billion"
