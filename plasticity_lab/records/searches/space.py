"""The settings that a search can try: a range or a list of values for each name."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LOG = "log"
DIGITS = 4
"""Significant digits of a value that is tried: more would change no result, and users could not type them."""


@dataclass(frozen=True)
class Range:
    """The numbers from low to high, both included.  log: whether the logarithm is searched. whole: only integers."""

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
        """Its ends and a number between. If a component refuses one of them, the range is invalid before training."""
        between = (self.low * self.high) ** 0.5 if self.log else self.low + 0.6180339887 * (self.high - self.low)
        ends = [int(self.low), int(self.high)] if self.whole else [self.low, self.high]
        return [*ends, self.rounded(between)]

    @property
    def values(self) -> Sequence[float | int] | None:
        """All values, if they are whole numbers or a single number; otherwise None."""
        if self.whole:
            return range(int(self.low), int(self.high) + 1)
        return [self.low] if self.low == self.high else None


Space = Mapping[str, Range | Sequence[Any]]
"""A setting by its dotted name → the range, or the values, among which its best is searched."""


def size_of(space: Space) -> int | None:
    """The number of combinations of values; None if a range of a setting has no end of values."""
    values = _values(space)
    return None if values is None else math.prod(map(len, values))


def in_random_order(space: Space, seed: str) -> Iterator[dict[str, Any]]:
    """All combinations of a finite space, each once, in an order that follows from the seed; none of another space."""
    values, size = _values(space), size_of(space)
    if values is None or not size:
        return
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest())
    step = next(each for each in range(1 + number // size % size, 2 * size + 2) if math.gcd(each, size) == 1)
    for at in range(size):
        left, chosen = (number + at * step) % size, []
        for own in values:
            left, place = divmod(left, len(own))
            chosen.append(own[place])
        yield dict(zip(space, chosen, strict=True))


def _values(space: Space) -> list[Sequence[Any]] | None:
    values = [
        of.values if isinstance(of, Range) else list({repr(each): each for each in of}.values())
        for of in space.values()
    ]
    return None if any(own is None for own in values) else [own for own in values if own is not None]
