"""Table F2's rewards against the rule for failed runs in Table F3: a run below −500 counts with a gap of 0."""

import math

from analysis.check_paper.finding import Finding, Verdict
from analysis.check_paper.printed import Printed
from analysis.check_paper.sheets import Cell, Sheet, named

FLOOR = -500
RUNS = 5
ALL_FAILED = "where every run failed, Δ is 0 (note under Table 4, rewards of Table F2)"
ZERO = "a Δ of 0.00 ± 0.00 says that every run failed, so rewards lie below −500 (note under Table 4, Table F2)"


def fewest_failed(reward: Cell, runs: int = RUNS, floor: float = FLOOR) -> tuple[int, int]:
    """How many of the runs lie below the floor at least: the least and the greatest such number over the rounding.

    With f runs below it and the others not, an SD (divisor n − 1) for a mean m under the floor is at least
    (floor − m) √(n (n − f) / ((n − 1) f)): all others at the floor, the f alike. A smaller SD needs more runs below.
    """
    if reward.sd is None:
        raise ValueError("A mean without an SD does not tell how many runs lie below a value.")

    def fewest(mean: float, sd: float) -> int:
        if mean >= floor:
            return 0
        apart = floor - mean
        return next(f for f in range(1, runs + 1) if sd >= apart * math.sqrt(runs * (runs - f) / ((runs - 1) * f)))

    return (
        fewest(float(reward.mean.high), float(reward.sd.high)),
        fewest(float(reward.mean.low), max(0.0, float(reward.sd.low))),
    )


def check_failures(rewards: Sheet, deltas: Sheet) -> list[Finding]:
    """One finding for each cell where every run must have failed, and for each where Δ says so."""
    found = []
    for row in deltas.rows:
        reward = rewards.column(row["env"])[row["activation"]]
        delta = Cell(Printed(row["delta_mean"]), Printed(row["delta_ci95"]))
        subject = f"{named(row['activation'])}, {row['env']}"
        words = f"reward {reward.mean} ± {reward.sd}, Δ {delta.mean} ± {delta.sd}"
        least, most = fewest_failed(reward)
        zero = not (delta.mean.value or (delta.sd and delta.sd.value))
        if least == RUNS or (most == RUNS and not zero):
            many = f"all {RUNS}" if least == RUNS else f"{least} to {RUNS} of {RUNS}"
            bound = f"{words}: {many} runs lie below −{-FLOOR}, or the SD (divisor n − 1) would be larger"
            if least == RUNS:
                verdict = Verdict.AGREES if zero else Verdict.DISAGREES
            else:
                verdict = Verdict.OPEN
            found.append(Finding(deltas.name, ALL_FAILED, subject, bound, verdict))
        if zero:
            possible = reward.mean.low < FLOOR
            found.append(Finding(deltas.name, ZERO, subject, words, Verdict.AGREES if possible else Verdict.DISAGREES))
    return found
