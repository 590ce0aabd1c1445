"""`python -m analysis check-paper`: which claims of the paper agree with its own numbers."""

import argparse
import itertools
from collections import Counter
from collections.abc import Sequence

from analysis.check_paper.checks import findings
from analysis.check_paper.finding import Finding, Verdict

SHOWN_WHOLE = 4
"""Up to this many agreeing findings are all shown; if there are more, only the first and their number."""


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and the function that runs it."""
    command.add_argument("--disagreements", action="store_true", help="only the claims that do not agree")
    command.set_defaults(make=lambda asked: print(text(findings(), asked.disagreements), end=""))


def text(found: Sequence[Finding], disagreements: bool) -> str:
    """The findings by table and claim, the disagreements first.  disagreements: whether to show no others."""
    wanted = [one for one in found if one.verdict is Verdict.DISAGREES or not disagreements]
    out = []
    for table, of_table in itertools.groupby(wanted, key=lambda finding: finding.table):
        out += ["", table]
        for claim, of_claim in itertools.groupby(of_table, key=lambda finding: finding.claim):
            out.append(f"  {claim}")
            listed = list(of_claim)
            for verdict in (Verdict.DISAGREES, Verdict.OPEN, Verdict.AGREES):
                out += _lines(verdict, [one for one in listed if one.verdict is verdict])
    return "\n".join([*out[1:], "", summary(found)]) + "\n"


def summary(found: Sequence[Finding]) -> str:
    """One sentence: how many claims were checked, and how many of them have a disagreement."""
    claims = {(one.table, one.claim) for one in found}
    broken = {(one.table, one.claim) for one in found if one.verdict is Verdict.DISAGREES}
    counted = Counter(one.verdict for one in found)
    return (
        f"{len(claims)} claims in {len(found)} places: {counted[Verdict.AGREES]} agree, {counted[Verdict.DISAGREES]} "
        f"disagree (of {len(broken)} claims), {counted[Verdict.OPEN]} cannot be told from the printed digits."
    )


def _lines(verdict: Verdict, listed: Sequence[Finding]) -> list[str]:
    if verdict is Verdict.AGREES and len(listed) > SHOWN_WHOLE:
        first = listed[0]
        return [f"    {verdict:<14}  {len(listed)} places, as {first.subject}: {first.arithmetic}"]
    return [f"    {verdict:<14}  {one.subject}: {one.arithmetic}" for one in listed]
