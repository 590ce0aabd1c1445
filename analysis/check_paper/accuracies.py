"""What an accuracy can be: at most 100 %, and the same number wherever it is printed."""

from collections.abc import Mapping

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.sheets import Sheet, named

WHOLE = 100


def check_final_accuracies(taoa: Sheet, gap: Sheet) -> list[Finding]:
    """GAP is final less online accuracy, task by task: GAP + TAOA is the mean final accuracy, which 100 % bounds."""
    found = []
    for benchmark in gap.columns():
        online = taoa.column(benchmark)
        for activation, cell in gap.column(benchmark).items():
            parts = (online[activation].mean, cell.mean)
            total, least, most = (sum(getattr(part, which) for part in parts) for which in ("value", "low", "high"))
            words = f"{parts[0]} + {parts[1]} = {total}, {least} to {most} before rounding".replace("+ −", "− ")
            found.append(
                Finding(
                    gap.name,
                    "TAOA + GAP is the accuracy at a task's end: at most 100 %",
                    f"{named(activation)}, {named(benchmark)}",
                    words,
                    judged(most <= WHOLE, least > WHOLE),
                )
            )
    return found


def check_repeated_column(first: Sheet, columns: Mapping[str, Sheet]) -> list[Finding]:
    """The column Vanilla of the tables of interventions is Table 2.  columns: benchmark → table."""
    found = []
    for benchmark, sheet in columns.items():
        vanilla = sheet.column("none")
        for activation, cell in first.column(benchmark).items():
            again = vanilla[activation]
            same = (cell.mean, cell.sd) == (again.mean, again.sd)
            found.append(
                Finding(
                    "Tables E4–E8",
                    f"the column Vanilla is {first.name} (Appendix E.3)",
                    f"{named(activation)}, {named(benchmark)}",
                    f"{again.mean} ± {again.sd} and {cell.mean} ± {cell.sd}",
                    judged(same, not same),
                )
            )
    return found
