"""Counts that printed digits imply: points of a correlation, failed runs behind a mean, and tasks in an average."""

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

import numpy as np

from analysis.check_paper.sheets import Cell, Finding, Printed, Sheet, Verdict, judged, named

MOST = 2000
"""Numbers of points that are tried, from 3."""
FLOOR = -500
RUNS = 5
ALL_FAILED = "where every run failed, Δ is 0 (note under Table 4, rewards of Table F2)"
ZERO = "a Δ of 0.00 ± 0.00 says that every run failed, so rewards lie below −500 (note under Table 4, Table F2)"
LEVEL = 0.001


def check_points(claims: Iterable[Mapping[str, str]]) -> Iterator[Finding]:
    """One finding for each figure: whether one number of points fits all its correlations.

    claims: said_in (the figure), of, r, p.
    """
    figures: dict[str, list[Mapping[str, str]]] = {}
    for claim in claims:
        figures.setdefault(claim["said_in"], []).append(claim)
    for figure, listed in figures.items():
        points = [possible_points(Printed(claim["r"]), Printed(claim["p"])) for claim in listed]
        common = set.intersection(*map(set, points))
        words = "; ".join(
            f"{claim['of']}: r = {Printed(claim['r'])}, p = {claim['p']}, so n = {_range(numbers)}"
            for claim, numbers in zip(listed, points, strict=True)
        )
        yield Finding(
            figure, "all its correlations are of the same points", "their number", words, judged(bool(common))
        )


def possible_points(r: Printed, p: Printed) -> list[int]:
    """All numbers of points that can give this r and this p, as printed, in Pearson's two-sided test."""
    import scipy.stats

    n = np.arange(3, MOST + 1)
    # p falls as |r| grows: the range of r gives the range of p.
    weak, strong = sorted(abs(float(edge)) for edge in (r.low, r.high))
    greatest, least = (2 * scipy.stats.t.sf(size * np.sqrt((n - 2) / (1 - size**2)), n - 2) for size in (weak, strong))
    return n[(least <= float(p.high)) & (greatest >= float(p.low))].tolist()


def _range(numbers: list[int]) -> str:
    if not numbers:
        return f"none up to {MOST}"
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def check_failures(rewards: Sheet, deltas: Sheet) -> Iterator[Finding]:
    """Checks Table F2's rewards against the rule of Table F3: a run below −500 counts with a gap of 0.

    One finding for each cell if all its runs must have failed, or may have while Δ ≠ 0; and one for each Δ of 0.
    """
    for row in deltas.rows:
        reward = rewards.column(row["env"])[row["activation"]]
        delta = Cell(Printed(row["delta_mean"]), Printed(row["delta_ci95"]))
        subject = f"{named(row['activation'])}, {row['env']}"
        words = f"reward {reward}, Δ {delta}"
        least, most = fewest_failed(reward)
        zero = not (delta.mean.value or (delta.sd and delta.sd.value))
        if least == RUNS or (most == RUNS and not zero):
            many = f"all {RUNS}" if least == RUNS else f"{least} to {RUNS} of {RUNS}"
            bound = f"{words}: {many} runs lie below −{-FLOOR}, or the SD (divisor n − 1) would be larger"
            verdict = judged(zero) if least == RUNS else Verdict.OPEN
            yield Finding(deltas.name, ALL_FAILED, subject, bound, verdict)
        if zero:
            yield Finding(deltas.name, ZERO, subject, words, judged(reward.mean.low < FLOOR))


def fewest_failed(reward: Cell) -> tuple[int, int]:
    """The fewest runs that lie below the floor: the smallest and the greatest such number over the rounding.

    Let f of n runs lie below the floor, with a mean m below it. The SD (divisor n − 1) is at least
    (floor − m) √(n (n − f) / ((n − 1) f)): the f runs are equal, the others at the floor. A smaller SD needs more runs
    below the floor.  Raises ValueError if no SD is printed.
    """
    if reward.sd is None:
        raise ValueError("A mean without an SD does not tell how many runs lie below a value.")

    def fewest(mean: float, sd: float) -> int:
        if mean >= FLOOR:
            return 0
        apart = FLOOR - mean
        return next(f for f in range(1, RUNS + 1) if sd >= apart * math.sqrt(RUNS * (RUNS - f) / ((RUNS - 1) * f)))

    return (
        fewest(float(reward.mean.high), float(reward.sd.high)),
        fewest(float(reward.mean.low), max(0.0, float(reward.sd.low))),
    )


def check_resolution(tables: Mapping[str, Sheet], examples: Mapping[str, int], claim: str) -> Iterator[Finding]:
    """Whether the columns of Tables E4–E8 with an intervention can be averages over tasks, as the text says.

    A mean over 5 runs of the accuracy on N examples is a multiple of 100 / (5 N) percent before rounding. An average
    over hundreds of tasks is a multiple only by chance.

    tables, examples: by benchmark; the table, and the number of examples that evaluate one task.
    """
    import scipy.stats

    for benchmark, sheet in tables.items():
        step = Decimal(100) / (RUNS * examples[benchmark])
        chance = min(1.0, 2 * float(Decimal("0.005") / step))
        if chance == 1.0:
            continue
        means = [cell.mean for name in sheet.columns() if name != "none" for cell in sheet.column(name).values()]
        # A mean of 0 or 100 is on every grid.
        telling = [mean for mean in means if mean.value not in (0, 100)]
        on_grid = sum(mean.meets(nearest := round(mean.value / step) * step, nearest) for mean in telling)
        p = float(scipy.stats.binomtest(on_grid, len(telling), chance, alternative="greater").pvalue)
        words = (
            f"{on_grid} of {len(telling)} means are multiples of {float(step):.4g} = 100 / ({RUNS} × "
            f"{examples[benchmark]}), as of one task; by chance {chance:.0%} would be (p = {p:.1g})"
        )
        yield Finding(sheet.name, claim, "columns +L2-Init, +SNR, +EWC", words, judged(p >= LEVEL))
