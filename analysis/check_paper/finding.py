"""What a check came to: a claim, the part of it that was looked at, the arithmetic, and the verdict."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Over all numbers that the printed ones can have been rounded from: true, false, or now one and now the other."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Finding:
    """One thing checked.

    table: under which it is listed. claim: what the paper says, as one sentence that holds for all its subjects.
    subject: the row, column or cell looked at. arithmetic: the numbers behind the verdict.
    """

    table: str
    claim: str
    subject: str
    arithmetic: str
    verdict: Verdict


def judged(always: bool, never: bool) -> Verdict:
    """The verdict on a claim that holds for every number the printed ones stand for, or for none of them."""
    if always == never:
        return Verdict.OPEN
    return Verdict.AGREES if always else Verdict.DISAGREES
