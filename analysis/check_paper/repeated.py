"""Numbers that are printed twice: in two tables, or in a table and in the text."""

from collections.abc import Iterable, Mapping

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.printed import Printed
from analysis.check_paper.sheets import Sheet, named


def check_same_cells(part: Sheet, whole: Sheet, keys: Iterable[str], fields: Iterable[str]) -> list[Finding]:
    """Each number of a table that repeats lines of another.  keys: what names a line in both."""
    names = list(keys)
    there = {tuple(row[name] for name in names): row for row in whole.rows}
    found = {}
    for row in part.rows:
        again = there[tuple(row[name] for name in names)]
        for field in fields:
            here, other = Printed(row[field]), Printed(again[field])
            # A number of a row, repeated on each of its lines, is one number.
            owner = ["activation"] if field.startswith(("iqm", "mean", "std")) else names
            subject = f"{', '.join(named(row[name]) for name in reversed(owner))}: {FIELDS.get(field, field)}"
            same = here.repeats(other)
            words = f"{here} and {other}"
            if not same and here.value == -other.value:
                words += ": opposite signs"
            claim = f"repeats {whole.name}"
            found[subject] = Finding(part.name, claim, subject, words, judged(same, not same))
    return list(found.values())


FIELDS = {
    "delta_mean": "Δ",
    "delta_ci95": "half-width of Δ's interval",
    "iqm_delta": "IQM",
    "iqm": "score",
    "ci95_half_width": "half-width of the score's interval",
}


def check_numbers_in_text(claims: Iterable[Mapping[str, str]], sheets: Mapping[str, Sheet]) -> list[Finding]:
    """Numbers that the text says against the table that holds them.

    claims: said, table, column (a field), row (field=value of the line, a space between), said_in.
    """
    found = []
    for claim in claims:
        where = dict(part.split("=") for part in claim["row"].split())
        rows = sheets[claim["table"]].rows
        row = next(row for row in rows if all(row[name] == value for name, value in where.items()))
        said, printed = Printed(claim["said"]), Printed(row[claim["column"]])
        same = said.repeats(printed)
        found.append(
            Finding(
                claim["table"],
                "the numbers in the text are the table's",
                f"{', '.join(named(value) for value in where.values())} ({claim['said_in']})",
                f"said {said}, printed {printed}",
                judged(same, not same),
            )
        )
    return found
