"""Numbers that are printed twice: in two tables, or in a table and in the text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.sheets import Printed, Sheet, named

FIELDS = {
    "delta_mean": "Δ",
    "delta_ci95": "half-width of Δ's interval",
    "iqm_delta": "IQM",
    "iqm": "score",
    "ci95_half_width": "half-width of the score's interval",
}


def check_same_cells(part: Sheet, whole: Sheet, keys: Sequence[str], fields: Iterable[str]) -> Iterator[Finding]:
    """Each number of a table that repeats lines of another.  keys: the fields that name a line in both."""
    rows = {tuple(row[key] for key in keys): row for row in whole.rows}
    found = {}
    for row in part.rows:
        again = rows[tuple(row[key] for key in keys)]
        for field in fields:
            here, other = Printed(row[field]), Printed(again[field])
            # A number of an activation, repeated on each of its lines, is one number.
            owner = ["activation"] if field.startswith(("iqm", "mean", "std")) else keys
            subject = f"{named(*(row[key] for key in reversed(owner)))}: {FIELDS.get(field, field)}"
            same = here.repeats(other)
            words = f"{here} and {other}"
            if not same and here.value == -other.value:
                words += ": opposite signs"
            found[subject] = Finding(part.name, f"repeats {whole.name}", subject, words, judged(same))
    yield from found.values()


def check_repeated_column(first: Sheet, columns: Mapping[str, Sheet]) -> Iterator[Finding]:
    """The column Vanilla of the tables of interventions is Table 2.  columns: benchmark → table."""
    claim = f"the column Vanilla is {first.name} (Appendix E.3)"
    for benchmark, sheet in columns.items():
        vanilla = sheet.column("none")
        for activation, cell in first.column(benchmark).items():
            again = vanilla[activation]
            subject = named(activation, benchmark)
            yield Finding("Tables E4–E8", claim, subject, f"{again} and {cell}", judged(cell == again))


def check_numbers_in_text(claims: Iterable[Mapping[str, str]], sheets: Mapping[str, Sheet]) -> Iterator[Finding]:
    """Checks numbers in the text against the same numbers in a table.

    claims: said, table, column (a field), row (field=value pairs of the line, separated by spaces), said_in.
    """
    for claim in claims:
        where = dict(part.split("=") for part in claim["row"].split())
        rows = sheets[claim["table"]].rows
        row = next(row for row in rows if all(row[name] == value for name, value in where.items()))
        said, printed = Printed(claim["said"]), Printed(row[claim["column"]])
        subject = f"{named(*where.values())} ({claim['said_in']})"
        words = f"said {said}, printed {printed}"
        same = said.repeats(printed)
        yield Finding(claim["table"], "the numbers in the text are the table's", subject, words, judged(same))
