"""Claims that compare activations within a column: which one is best, next or above others, and how significantly."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

import numpy as np

from analysis.check_paper.sheets import Cell, Finding, Sheet, Verdict, judged, named

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
    return words, judged(significant, hidden) if wanted else judged(hidden, significant)


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
