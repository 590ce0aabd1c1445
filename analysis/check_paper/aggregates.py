"""Printed numbers against other printed numbers: recomputed from them, or printed twice.

Recomputed are aggregates over environments, final accuracies, and spreads over activations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from analysis.check_paper.sheets import Finding, Printed, Sheet, iqm, judged, mean, named, sd, sd_of_rounding
from analysis.rows import grouped

AGGREGATES: dict[str, tuple[str, Callable[[Iterable[Decimal]], Decimal]]] = {
    "iqm_delta": ("IQM", iqm),
    "mean_delta": ("mean", mean),
    "std_delta": ("SD (divisor n − 1)", sd),
}
WHOLE = 100
FIELDS = {
    "delta_mean": "Δ",
    "delta_ci95": "half-width of Δ's interval",
    "iqm_delta": "IQM",
    "iqm": "score",
    "ci95_half_width": "half-width of the score's interval",
}
"""Field of a table that repeats lines of another → its name in a finding."""


def check_aggregates(deltas: Sheet) -> Iterator[Finding]:
    """Checks the printed IQM, mean and SD of Δ for each activation against the printed Δ of its four environments."""
    for activation, rows in grouped(deltas.rows, lambda row: row["activation"]).items():
        values = [Printed(row["delta_mean"]) for row in rows]
        for field, (called, aggregate) in AGGREGATES.items():
            if field not in rows[0]:
                continue
            printed = Printed(rows[0][field])
            low, high = _range(values, aggregate)
            exact = Printed(f"{aggregate([value.value for value in values]):.2f}")
            words = f"printed {printed}; of {', '.join(map(str, values))} it is {exact}"
            meets = printed.meets(low, high)
            if aggregate is not sd and printed.meets(-high, -low) and not meets:
                words += ": the sign is wrong"
            claim = f"{called} of Δ over the four environments"
            yield Finding(deltas.name, claim, named(activation), words, judged(meets))


def _range(values: list[Printed], aggregate: Callable[[Iterable[Decimal]], Decimal]) -> tuple[Decimal, Decimal]:
    """The smallest and the greatest aggregate that the rounded values allow."""
    if aggregate is sd:  # unlike the others, it does not grow with each of its values
        off = max(value.half for value in values) * sd_of_rounding(len(values))
        exact = sd(value.value for value in values)
        return exact - off, exact + off
    return aggregate([value.low for value in values]), aggregate([value.high for value in values])


def check_final_accuracies(taoa: Sheet, gap: Sheet) -> Iterator[Finding]:
    """GAP is final less online accuracy, task by task: GAP + TAOA is the mean final accuracy, at most 100 %."""
    claim = "TAOA + GAP is the accuracy at a task's end: at most 100 %"
    for benchmark in gap.columns():
        online = taoa.column(benchmark)
        for activation, cell in gap.column(benchmark).items():
            parts = (online[activation].mean, cell.mean)
            total, least, most = (sum(getattr(part, which) for part in parts) for which in ("value", "low", "high"))
            words = f"{parts[0]} + {parts[1]} = {total}, {least} to {most} before rounding".replace("+ −", "− ")
            yield Finding(gap.name, claim, named(activation, benchmark), words, judged(most <= WHOLE, least > WHOLE))


def check_spread(claim: Mapping[str, str], sheet: Sheet) -> Iterator[Finding]:
    """Checks that activations differ more in one column than in another, by best − worst and by SD / mean.

    claim: of (the columns with the smaller and with the wider spread, separated by a space), said_in.
    """
    narrow, wide = claim["of"].split()
    columns = [[cell.mean for cell in sheet.column(name).values()] for name in (narrow, wide)]
    said = f"differences are wider under {named(wide)} than under {named(narrow)} ({claim['said_in']})"
    for measure, spread in {"best less worst": _best_less_worst, "SD over mean": _sd_over_mean}.items():
        (words, low, high), (other_words, other_low, other_high) = map(spread, columns)
        arithmetic = f"{words} and {other_words}"
        yield Finding(sheet.name, said, measure, arithmetic, judged(other_low > high, other_high < low))


def _best_less_worst(column: list[Printed]) -> tuple[str, Decimal, Decimal]:
    """The arithmetic, and the smallest and the greatest difference before rounding."""
    best, worst = max(column, key=lambda cell: cell.value), min(column, key=lambda cell: cell.value)
    return f"{best} − {worst} = {best.value - worst.value}", best.low - worst.high, best.high - worst.low


def _sd_over_mean(column: list[Printed]) -> tuple[str, Decimal, Decimal]:
    """The arithmetic, and the smallest and the greatest ratio before rounding."""
    spread, centre = sd(cell.value for cell in column), mean(cell.value for cell in column)
    half = max(cell.half for cell in column)
    off = half * sd_of_rounding(len(column))
    words = f"{spread:.2f} / {centre:.2f} = {spread / centre:.1%}"
    return words, (spread - off) / (centre + half), (spread + off) / (centre - half)


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
