"""What the columns of Tables E4–E8 can be, from their last digits.

A mean over 5 runs of the accuracy on N examples is a multiple of 100 / (5 N) percent, before it is rounded. An accuracy
that is an average over hundreds of tasks is not bound to so coarse a grid, and meets it by chance alone.
"""

from collections.abc import Mapping
from decimal import Decimal

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.sheets import Sheet

RUNS = 5
LEVEL = 0.001


def check_resolution(tables: Mapping[str, Sheet], examples: Mapping[str, int], claim: str) -> list[Finding]:
    """For each table whether its columns with an intervention can be averages over tasks, as the text says.

    tables, examples: by benchmark; how many examples one task is evaluated on.
    """
    import scipy.stats

    found = []
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
        found.append(Finding(sheet.name, claim, "columns +L2-Init, +SNR, +EWC", words, judged(p >= LEVEL, p < LEVEL)))
    return found
