"""A number as a table prints it: an interval of half a unit of its last digit to either side."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Printed:
    """A printed number; what was rounded to it lies in [low, high].  Decimal, so that sums at the border are exact."""

    text: str

    @property
    def value(self) -> Decimal:
        """The number itself."""
        return Decimal(self.text)

    @property
    def half(self) -> Decimal:
        """Half a unit of the last digit: 0.005 for 84.10, 50,000 for -1.0e6."""
        exponent = self.value.as_tuple().exponent
        if not isinstance(exponent, int):
            raise ValueError(f"{self.text} is no finite number.")
        return Decimal(5).scaleb(exponent - 1)

    @property
    def low(self) -> Decimal:
        """The least number that is printed so."""
        return self.value - self.half

    @property
    def high(self) -> Decimal:
        """The greatest number that is printed so."""
        return self.value + self.half

    def meets(self, low: Decimal, high: Decimal) -> bool:
        """Whether a number in [low, high] can have been printed so."""
        return self.low <= high and low <= self.high

    def repeats(self, other: "Printed") -> bool:
        """Whether both can be one number: equal if printed with the same digits, else one a rounding of the other."""
        return self.value == other.value if self.half == other.half else self.meets(other.low, other.high)

    def __str__(self) -> str:
        return self.text.replace("-", "−")


def iqm(values: Iterable[Decimal]) -> Decimal:
    """The mean of the middle half.  Raises ValueError for a number of values that four does not divide."""
    ordered = sorted(values)
    cut, rest = divmod(len(ordered), 4)
    if rest or not cut:
        raise ValueError(f"The middle half of {len(ordered)} values would cut one of them.")
    return mean(ordered[cut:-cut])


def mean(values: Iterable[Decimal]) -> Decimal:
    """The arithmetic mean."""
    listed = list(values)
    return sum(listed, Decimal(0)) / len(listed)


def sd_of_rounding(n: int) -> Decimal:
    """By how much, in half units, the SD of n numbers can move as they are rounded: |sd(x + e) − sd(x)| ≤ sd(e)."""
    return (Decimal(n) / (n - 1)).sqrt()


def sd(values: Iterable[Decimal]) -> Decimal:
    """The sample standard deviation (divisor n − 1)."""
    listed = list(values)
    centre = mean(listed)
    return (sum(((value - centre) ** 2 for value in listed), Decimal(0)) / (len(listed) - 1)).sqrt()
