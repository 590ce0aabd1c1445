"""Whether differences between activations grow from one column to another."""

from collections.abc import Mapping

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.printed import Printed, mean, sd, sd_of_rounding
from analysis.check_paper.sheets import Sheet, named


def check_spread(claim: Mapping[str, str], sheet: Sheet) -> list[Finding]:
    """By the two measures that the word can mean: best less worst, and SD over mean.

    claim: of (the columns with the smaller and with the wider spread, a space between), said_in.
    """
    narrow, wide = claim["of"].split()
    columns = [[cell.mean for cell in sheet.column(name).values()] for name in (narrow, wide)]
    said = f"differences are wider under {named(wide)} than under {named(narrow)} ({claim['said_in']})"
    return [_best_less_worst(sheet.name, said, *columns), _sd_over_mean(sheet.name, said, *columns)]


def _best_less_worst(table: str, said: str, narrow: list[Printed], wide: list[Printed]) -> Finding:
    edges = [
        (max(column, key=lambda cell: cell.value), min(column, key=lambda cell: cell.value))
        for column in (narrow, wide)
    ]
    words = " and ".join(f"{best} − {worst} = {best.value - worst.value}" for best, worst in edges)
    (low, high), (other_low, other_high) = ((best.low - worst.high, best.high - worst.low) for best, worst in edges)
    return Finding(table, said, "best less worst", words, judged(other_low > high, other_high < low))


def _sd_over_mean(table: str, said: str, narrow: list[Printed], wide: list[Printed]) -> Finding:
    words, ranges = [], []
    for column in (narrow, wide):
        spread, centre = sd(cell.value for cell in column), mean(cell.value for cell in column)
        half = max(cell.half for cell in column)
        off = half * sd_of_rounding(len(column))
        words.append(f"{spread:.2f} / {centre:.2f} = {spread / centre:.1%}")
        ranges.append(((spread - off) / (centre + half), (spread + off) / (centre - half)))
    (low, high), (other_low, other_high) = ranges
    return Finding(table, said, "SD over mean", " and ".join(words), judged(other_low > high, other_high < low))
