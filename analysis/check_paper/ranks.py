"""Claims that printed digits decide: ranks and significance within a column, and counts that the digits imply.

Ranks: which activation is best, next or above others, and how significantly. Counts: points of a correlation, failed
runs behind a mean, and tasks in an average.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

import numpy as np

from analysis.check_paper.sheets import Cell, Finding, Printed, Sheet, Verdict, judged, named
from analysis.rows import grouped
from analysis.statistics.two_groups import equivalence_of_summaries
from analysis.tables.paper import MARGIN

LEVEL = 0.05
RUNS = 5
"""The number of runs of each mean, from the captions."""
LEAST_SHOWN = 0.0001
STEPS = 41
"""The number of SDs that are tried: the degrees of freedom change with the SDs, so p is not monotonic in them."""


def check_order(claims: Iterable[Mapping[str, str]], sheets: Mapping[str, Sheet]) -> Iterator[Finding]:
    """One finding for each column that a claim is about.

    claims: table, column (`every`: all), claim (`best`, `next best` after others, `above` or `below` all of others),
    activation, others (names, a space between), said_in.
    """
    for claim in claims:
        sheet = sheets[claim["table"]]
        others = claim["others"].split()
        after = f" after {named(others[0])}" if claim["claim"] == "next best" else ""
        than = "" if after else named(*others)
        said = f"{named(claim['activation'])} is {claim['claim']}{after} {than}".strip()
        for name in sheet.columns_of(claim):
            words, verdict = ranked(sheet.column(name), claim["claim"], claim["activation"], others)
            yield Finding(claim["table"], f"{said} ({claim['said_in']})", named(name), words, verdict)


def ranked(column: Mapping[str, Cell], claim: str, name: str, others: list[str]) -> tuple[str, Verdict]:
    """The arithmetic and the verdict on one claim in one column.  More is better."""
    means = {activation: cell.mean for activation, cell in column.items()}
    ours = means[name]
    lower, higher = [], []  # the activations that the claim puts below this one, and above it
    if claim == "best":
        lower = [other for other in means if other != name]
    elif claim == "next best":
        lower = [other for other in means if other != name and means[other].value < means[others[0]].value]
        higher = others
    elif claim == "above":
        lower = others
    else:
        higher = others
    always = all(means[other].high < ours.low for other in lower) and all(
        means[other].low > ours.high for other in higher
    )
    never = any(means[other].low > ours.high for other in lower) or any(
        means[other].high < ours.low for other in higher
    )

    def value(activation: str) -> Decimal:
        return means[activation].value

    wrong = [other for other in lower if value(other) >= value(name)]
    wrong += [other for other in higher if value(other) <= value(name)]
    nearest = min([*lower, *higher], key=lambda other: abs(value(other) - value(name)))
    shown = sorted(wrong, key=value, reverse=True) or [nearest]
    words = ", ".join(f"{named(activation)} {means[activation]}" for activation in [name, *shown])
    return words, judged(always, never)


def check_significance(claims: Iterable[Mapping[str, str]], sheets: Mapping[str, Sheet]) -> Iterator[Finding]:
    """One finding for each comparison that a claim is about, by Welch's test of printed means, SDs and n.

    claims: table, column (`every`: all), activation, than (an activation, `next_best` or `every_other`), claim
    (`significant` or `not significant`), said_in.
    """
    for claim in claims:
        sheet, ours = sheets[claim["table"]], claim["activation"]
        wanted = claim["claim"] == "significant"
        groups = {"next_best": "the next best", "every_other": "every other" if wanted else "any other"}
        than = groups.get(claim["than"]) or named(claim["than"])
        said = f"{named(ours)} is {'' if wanted else 'not '}significantly above {than} ({claim['said_in']})"
        for name in sheet.columns_of(claim):
            column = sheet.column(name)
            for other in _others(column, ours, claim["than"]):
                subject = f"{named(name)}, against {named(other)}"
                yield Finding(claim["table"], said, subject, *compared(column[ours], column[other], wanted))


def compared(ours: Cell, theirs: Cell, wanted: bool) -> tuple[str, Verdict]:
    """The arithmetic and the verdict on `ours is (not) significantly above theirs`."""
    low, high = p_range(ours, theirs)
    if high < LEAST_SHOWN:
        p = f"p < {LEAST_SHOWN}"
    else:
        p = f"p from {f'{low:.2g}' if low >= LEAST_SHOWN else f'<{LEAST_SHOWN}'} to {high:.2g}"
    words = f"{ours} and {theirs}: Welch's {p}"
    above, below = ours.mean.low > theirs.mean.high, ours.mean.high < theirs.mean.low
    significant, hidden = above and high < LEVEL, below or low >= LEVEL
    if below:
        words += ", and it is lower"
    if high >= LEVEL:
        equal = shown_equal(ours, theirs)
        words += f"; shown equal within {MARGIN:g} point" if equal else f"; not shown equal within {MARGIN:g} point"
    return words, judged(significant, hidden) if wanted else judged(hidden, significant)


def shown_equal(ours: Cell, theirs: Cell) -> bool:
    """Whether both are shown equal within `MARGIN` at the level `LEVEL`, for all numbers that print the same."""
    if ours.sd is None or theirs.sd is None:
        return False
    apart = float(abs(ours.mean.value - theirs.mean.value) + ours.mean.half + theirs.mean.half)
    p = equivalence_of_summaries((apart, float(ours.sd.high), RUNS), (0.0, float(theirs.sd.high), RUNS), MARGIN)
    return p is not None and p < LEVEL


def p_range(ours: Cell, theirs: Cell) -> tuple[float, float]:
    """The smallest and the greatest two-sided p that the printed numbers allow."""
    import scipy.stats

    apart = abs(float(ours.mean.value - theirs.mean.value))
    half = float(ours.mean.half + theirs.mean.half)
    differences = np.array([max(0.0, apart - half), apart + half])
    grids = [
        np.linspace(max(float(cell.sd.low), 1e-9), float(cell.sd.high), STEPS)  # 0 in both would leave no scale
        for cell in (ours, theirs)
        if cell.sd is not None
    ]
    difference, sd, other = np.meshgrid(differences, *grids, indexing="ij")
    p = scipy.stats.ttest_ind_from_stats(difference, sd, RUNS, 0.0, other, RUNS, equal_var=False).pvalue
    return float(p.min()), float(p.max())


def _others(column: Mapping[str, Cell], ours: str, than: str) -> list[str]:
    if than == "every_other":
        return [name for name in column if name != ours]
    if than == "next_best":
        lower = [name for name in column if column[name].mean.value < column[ours].mean.value]
        return [max(lower, key=lambda name: column[name].mean.value)]
    return [than]


MOST = 2000
"""Numbers of points that are tried, from 3."""
FLOOR = -500
ALL_FAILED = "where every run failed, Δ is 0 (note under Table 4, rewards of Table F2)"
ZERO = "a Δ of 0.00 ± 0.00 says that every run failed, so rewards lie below −500 (note under Table 4, Table F2)"
CHANCE_LEVEL = 0.001


def check_points(claims: Iterable[Mapping[str, str]]) -> Iterator[Finding]:
    """One finding for each figure: whether one number of points fits all its correlations.

    claims: said_in (the figure), of, r, p.
    """
    for figure, listed in grouped(claims, lambda claim: claim["said_in"]).items():
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
        yield Finding(sheet.name, claim, "columns +L2-Init, +SNR, +EWC", words, judged(p >= CHANCE_LEVEL))
