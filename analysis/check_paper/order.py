"""Claims of rank: who is best, who comes next, who stands above whom."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from analysis.check_paper.finding import Finding, Verdict, judged
from analysis.check_paper.sheets import Cell, Sheet, named


def check_order(claims: Iterable[Mapping[str, str]], sheets: Mapping[str, Sheet]) -> list[Finding]:
    """One finding for each column that a claim is about.

    claims: table, column (`every`: all), claim (`best`, `next best` after others, `above` or `below` all of others),
    activation, others (names, a space between), said_in.
    """
    found = []
    for claim in claims:
        sheet = sheets[claim["table"]]
        others = claim["others"].split()
        after = f" after {named(others[0])}" if claim["claim"] == "next best" else ""
        than = "" if after else ", ".join(map(named, others))
        said = f"{named(claim['activation'])} is {claim['claim']}{after} {than}".strip()
        for name in sheet.columns() if claim["column"] == "every" else [claim["column"]]:
            words, verdict = ranked(sheet.column(name), claim["claim"], claim["activation"], others)
            found.append(Finding(claim["table"], f"{said} ({claim['said_in']})", named(name), words, verdict))
    return found


def ranked(column: Mapping[str, Cell], claim: str, name: str, others: list[str]) -> tuple[str, Verdict]:
    """The arithmetic and the verdict on one claim in one column.  More is better."""
    ours = column[name].mean
    above, below = [], []
    if claim == "best":
        above = [other for other in column if other != name]
    elif claim == "next best":
        lead = column[others[0]].mean
        above = [other for other in column if other != name and column[other].mean.value < lead.value]
        below = others
    else:
        above, below = (others, []) if claim == "above" else ([], others)
    always = all(column[other].mean.high < ours.low for other in above) and all(
        column[other].mean.low > ours.high for other in below
    )
    never = any(column[other].mean.low > ours.high for other in above) or any(
        column[other].mean.high < ours.low for other in below
    )
    shown = _telling(column, name, above, below)
    words = ", ".join(f"{named(each)} {column[each].mean}" for each in [name, *shown])
    return words, judged(always, never)


def _telling(column: Mapping[str, Cell], name: str, above: list[str], below: list[str]) -> list[str]:
    """Those on the wrong side of one, the best first; where there are none, the nearest."""

    def value(each: str) -> Decimal:
        return column[each].mean.value

    wrong = [other for other in above if value(other) >= value(name)]
    wrong += [other for other in below if value(other) <= value(name)]
    nearest = min([*above, *below], key=lambda other: abs(value(other) - value(name)))
    return sorted(wrong, key=value, reverse=True) or [nearest]
