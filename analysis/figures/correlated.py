"""A correlation in a sentence, beside the one that the paper prints of the same figure."""

from collections.abc import Sequence

from analysis.reported.reported import lines
from analysis.statistics.correlation import pearson


def correlation_said(
    said_in: str, of: str, x: Sequence[float], y: Sequence[float], points: str, title: str = ""
) -> str:
    """Ours with its interval and p, and the paper's.

    said_in, of: as `claims_correlations.csv` has them. points: what the pairs are, in words. title: of which runs.
    """
    found = pearson(x, y)
    where = f" ({title})" if title else ""
    if found.r is None or found.p is None:
        ours = f"none, since {found.reason}"
    else:
        interval = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
        ours = f"r = {found.r:.2f}{interval}, p = {found.p:.2g}"
    known = lines("claims_correlations.csv")
    paper = next((line for line in known if (line["said_in"], line["of"]) == (said_in, of)), None)
    theirs = "" if paper is None else f"; the paper's r = {paper['r']}, p = {paper['p']}"
    return f"Pearson's correlation of {of}{where}, over {found.n} {points}: {ours}{theirs}."
