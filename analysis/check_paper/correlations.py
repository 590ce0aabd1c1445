"""Printed correlations: r and p together say how many points were correlated; those of one figure must agree."""

from collections.abc import Iterable, Mapping

import numpy as np

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.printed import Printed

MOST = 2000
"""Numbers of points that are tried, from 3."""


def possible_points(r: Printed, p: Printed) -> list[int]:
    """The numbers of points for which Pearson's two-sided test can print this r and this p."""
    import scipy.stats

    n = np.arange(3, MOST + 1)
    # p falls where |r| grows: the range of r gives the range of p.
    weak, strong = sorted(abs(float(edge)) for edge in (r.low, r.high))
    greatest, least = (2 * scipy.stats.t.sf(size * np.sqrt((n - 2) / (1 - size**2)), n - 2) for size in (weak, strong))
    return n[(least <= float(p.high)) & (greatest >= float(p.low))].tolist()


def check_points(claims: Iterable[Mapping[str, str]]) -> list[Finding]:
    """One finding for each figure: whether one number of points fits all its correlations.

    claims: said_in (the figure), of, r, p.
    """
    figures: dict[str, list[Mapping[str, str]]] = {}
    for claim in claims:
        figures.setdefault(claim["said_in"], []).append(claim)
    found = []
    for figure, listed in figures.items():
        points = [possible_points(Printed(claim["r"]), Printed(claim["p"])) for claim in listed]
        common = set.intersection(*map(set, points))
        words = "; ".join(
            f"{claim['of']}: r = {Printed(claim['r'])}, p = {claim['p']}, so n = {_runs(of)}"
            for claim, of in zip(listed, points, strict=True)
        )
        found.append(
            Finding(
                figure,
                "all its correlations are of the same points",
                "their number",
                words,
                judged(bool(common), not common),
            )
        )
    return found


def _runs(numbers: list[int]) -> str:
    if not numbers:
        return f"none up to {MOST}"
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
