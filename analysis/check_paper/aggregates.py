"""Aggregates over the environments, recomputed from the rows that they aggregate."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.printed import Printed, iqm, mean, sd, sd_of_rounding
from analysis.check_paper.sheets import Sheet, named

AGGREGATES: dict[str, tuple[str, Callable[[Iterable[Decimal]], Decimal]]] = {
    "iqm_delta": ("IQM", iqm),
    "mean_delta": ("mean", mean),
    "std_delta": ("SD (divisor n − 1)", sd),
}


def check_aggregates(deltas: Sheet) -> list[Finding]:
    """The printed IQM, mean and SD of Δ of each activation against those of its four environments."""
    by_activation: dict[str, list[dict[str, str]]] = {}
    for row in deltas.rows:
        by_activation.setdefault(row["activation"], []).append(dict(row))
    found = []
    for activation, rows in by_activation.items():
        values = [Printed(row["delta_mean"]) for row in rows]
        for field, (called, aggregate) in AGGREGATES.items():
            if field not in rows[0]:
                continue
            printed = Printed(rows[0][field])
            low, high = _range(values, aggregate)
            listed = ", ".join(map(str, values))
            words = f"printed {printed}; of {listed} it is {Printed(f'{aggregate([v.value for v in values]):.2f}')}"
            if aggregate is not sd and printed.meets(-high, -low) and not printed.meets(low, high):
                words += ": the sign is wrong"
            meets = printed.meets(low, high)
            claim = f"{called} of Δ over the four environments"
            found.append(Finding(deltas.name, claim, named(activation), words, judged(meets, not meets)))
    return found


def _range(values: list[Printed], aggregate: Callable[[Iterable[Decimal]], Decimal]) -> tuple[Decimal, Decimal]:
    """The least and the greatest aggregate that the rounded values allow."""
    if aggregate is sd:  # it does not grow with each of its values, as the others do
        off = max(value.half for value in values) * sd_of_rounding(len(values))
        exact = sd(value.value for value in values)
        return exact - off, exact + off
    return aggregate([value.low for value in values]), aggregate([value.high for value in values])
