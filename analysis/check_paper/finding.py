"""The outcome of one check: a claim, the part of it that was checked, the arithmetic and the verdict."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Whether a claim is true, false, or either, over all numbers that round to the printed ones."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    table: the table that the report lists it under. claim: a statement of the paper, as one sentence for all its
    subjects. subject: the row, column or cell that was checked. arithmetic: the numbers behind the verdict.
    """

    table: str
    claim: str
    subject: str
    arithmetic: str
    verdict: Verdict


def judged(always: bool, never: bool | None = None) -> Verdict:
    """The verdict on a claim.

    always: whether the claim holds for all unrounded numbers that would print the same. never: whether it holds for
    none of them; default: the opposite of `always`, for claims that rounding cannot change.
    """
    if always == never:
        return Verdict.OPEN
    return Verdict.AGREES if always else Verdict.DISAGREES
