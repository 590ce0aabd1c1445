"""The packs that a check trains, and the meaning of a difference between a run in one of them and the run alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from launch.own_classes.packs import Scale
from launch.own_classes.tiny import Tiny

MIXES = (
    "a number of one run has reached another (a sum, a mean or a sort over axis 0), or the first run's setting was "
    "taken for all (self.… in place of the method's argument on the run axis)"
)
LARGE = (
    "a number of one run has reached another as soon as it is large (one norm or one maximum over the pack: a clip, a "
    "scale); take it over the axes of each run alone"
)
NOT_FINITE = (
    "a number of one run has reached another as soon as it is not finite (isfinite(x).all(), a step that is skipped "
    "for all); ask it of each run alone"
)
KEPT = (
    "something is kept from one pack to the next (a global variable, an attribute of the class), or drawn from a "
    "global generator"
)
FIRST = (
    "the first run's setting has decided for all (an `if` on self.… while the step is built or called); compute with "
    "the method's argument on the run axis, by torch.where or a factor"
)
NOT_IN_STATE = "a number is kept in the object, and no checkpoint finds it there; it belongs into the state"
LEFT_BEHIND = (
    "the pack that was trained before has left something that counts (a value of the module or of the class that the "
    "first call sets, or that is kept without the seed)"
)
OTHER_PROCESS = (
    "another process has other numbers: hash() of a string and the order of a set differ with PYTHONHASHSEED, and so "
    "do id() and the time; hashlib and sorted() do not"
)


@dataclass(frozen=True)
class Case:
    """One pack; its runs must have the same numbers as alone.

    title: the pack in words. runs: the small runs in it. why: the meaning of a difference. scaled: position in the pack
    → the scale of this run's parameters; the numbers of a scaled run are not compared.
    """

    title: str
    runs: Sequence[int]
    why: str
    interrupted: bool = False
    scaled: Mapping[int, Scale] = field(default_factory=dict)


CASES = (
    Case("again, in the same process", [0], KEPT),
    Case("in a pack of 2", [0, 1], MIXES),
    Case("in a pack of 3", [0, 1, 2], MIXES),
    Case("in a pack of 3 in another order", [2, 0, 1], MIXES),
    Case("in a pack of 5, some runs twice", [1, 2, 1, 0, 2], MIXES),
    Case("packed with a run of values 10⁴ times as large", [1, 0], LARGE, scaled={0: Scale(1e4, first=True)}),
    Case("packed with a run of weights 10⁴ times as large", [0, 1], LARGE, scaled={1: Scale(1e4)}),
    Case("packed with a run that diverges", [0, 2, 1], NOT_FINITE, scaled={1: Scale(1e38)}),
    Case("alone, stopped and resumed after every part", [1], NOT_IN_STATE, interrupted=True),
)
AFRESH = Case("in a fresh process, after the pack of other runs of another length", [2, 0], LEFT_BEHIND)


def of_extremes(tiny: Tiny) -> list[Case]:
    """Packs of two runs, one with an unusual value of the class's settings, in both orders."""
    cases = []
    for extreme, words in tiny.extremes.items():
        cases.append(Case(f"in a pack after a run with {words}", [extreme, 1], FIRST))
        cases.append(Case(f"in a pack before a run with {words}", [1, extreme], FIRST))
    return cases
