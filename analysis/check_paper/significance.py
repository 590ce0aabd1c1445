"""Claims of significance, recomputed from printed means, SDs and n by Welch's test."""

from collections.abc import Iterable, Mapping

import numpy as np

from analysis.check_paper.finding import Finding, Verdict, judged
from analysis.check_paper.sheets import Cell, Sheet, named

LEVEL = 0.05
RUNS = 5
"""How many runs stand behind every mean, as the captions say."""
LEAST_SHOWN = 0.0001
STEPS = 41
"""p does not only fall where an SD shrinks (the degrees of freedom move, too): this many SDs are tried."""


def check_significance(claims: Iterable[Mapping[str, str]], sheets: Mapping[str, Sheet]) -> list[Finding]:
    """One finding for each comparison that a claim is about.

    claims: table, column (`every`: all), activation, than (an activation, `next_best` or `every_other`), claim
    (`significant` or `not significant`), said_in.
    """
    found = []
    for claim in claims:
        sheet = sheets[claim["table"]]
        for name in sheet.columns() if claim["column"] == "every" else [claim["column"]]:
            column = sheet.column(name)
            ours = claim["activation"]
            wanted = claim["claim"] == "significant"
            said = f"{named(ours)} is {'' if wanted else 'not '}significantly above {_in_words(claim['than'], wanted)}"
            found += [
                Finding(
                    claim["table"],
                    f"{said} ({claim['said_in']})",
                    f"{named(name)}, against {named(other)}",
                    *compared(column[ours], column[other], wanted),
                )
                for other in _others(column, ours, claim["than"])
            ]
    return found


def compared(ours: Cell, theirs: Cell, wanted: bool) -> tuple[str, Verdict]:
    """The arithmetic and the verdict on `ours is (not) significantly above theirs`."""
    low, high = p_range(ours, theirs)
    words = f"{ours.mean} ± {ours.sd} and {theirs.mean} ± {theirs.sd}: Welch's {_shown(low, high)}"
    above, below = ours.mean.low > theirs.mean.high, ours.mean.high < theirs.mean.low
    significant, hidden = above and high < LEVEL, below or low >= LEVEL
    if below:
        words += ", and it is lower"
    return words, judged(significant, hidden) if wanted else judged(hidden, significant)


def p_range(ours: Cell, theirs: Cell) -> tuple[float, float]:
    """The least and the greatest two-sided p that the printed numbers allow."""
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


def _in_words(than: str, wanted: bool) -> str:
    words = {"next_best": "the next best", "every_other": "every other" if wanted else "any other"}
    return words.get(than) or named(than)


def _shown(low: float, high: float) -> str:
    if high < LEAST_SHOWN:
        return f"p < {LEAST_SHOWN}"
    return f"p from {f'{low:.2g}' if low >= LEAST_SHOWN else f'<{LEAST_SHOWN}'} to {high:.2g}"
