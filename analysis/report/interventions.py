"""The interventions of a store compared with `none`: one table over all benchmarks and settings, and a figure."""

from collections.abc import Sequence
from dataclasses import replace

from analysis.compare.arm import Arm
from analysis.compare.caption import outcome, welch_verdict
from analysis.compare.comparison import LEVEL, Compared, Comparison, comparison
from analysis.compare.drawing import TABLES, drawing
from analysis.compare.listing import name_of, or_nothing, with_interval
from analysis.figures.drawing import Drawing
from analysis.rows import Row
from analysis.tables.listing import Listing, signed, with_sd
from analysis.tables.table import Metrics
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import POINTS

BY, TITLE = "intervention", "Interventions compared"
COMMAND = f"python -m analysis compare --by {BY}"
HEADER = (
    BY, "benchmark", "runs with", "metric", "n", "mean ± SD", "IQM [95 %]", "difference [95 %]", "Holm p",
    "against the reference",
)  # fmt: skip
FEW = 4
"""Up to this many comparisons, the caption lists the arms by their results."""


def compared(rows: Sequence[Row]) -> Comparison | None:
    """The interventions compared; None unless two of them have runs that share all other settings."""
    if len({row.intervention for row in rows}) < 2:
        return None
    try:
        return comparison(rows, BY, pairs=False)
    except ConfigError:
        return None


def table(found: Comparison) -> Listing:
    """One line for each arm of each comparison, the reference first."""
    lines = [(each, arm) for each in found.shown for arm in _reference_first(each)]
    return Listing(
        name=name_of(BY),
        title=TITLE,
        header=HEADER,
        body=[_cells(each, arm) for each, arm in lines],
        lines=(),
        caption=(
            *(sentence for each in found.shown for sentence in _verdict(found, each)),
            "Mean ± SD and IQM (interquartile mean) over runs. Difference: the mean minus the reference's, in "
            f"the metric's unit; accuracies differ by {POINTS}. Several benchmarks: means of scores.",
            "Holm p: Welch's two-sided test of equal means, corrected for the tests of one benchmark and its settings. "
            f"Not significantly different: p ≥ {LEVEL}. Reference: none; the best arm if none has no runs.",
            *found.notes,
            f"`{COMMAND}` writes each comparison with all its tests.",
        ),
    )


def repeats(shown: Listing, found: Comparison) -> bool:
    """Whether a table has one line, with numbers of an intervention that the comparison has too."""
    runs, metrics = {row.run for row in found.rows}, {each.measure.name for each in found.shown}
    return len(shown.body) == 1 and all(
        line.get("intervention", "none") != "none"
        and line["metric"] in metrics
        and {*str(line["runs"]).split()} <= runs
        for line in shown.lines
    )


def figure(found: Comparison, metrics: Metrics) -> Drawing:
    """The figure of `compare`."""
    return replace(drawing(found, metrics, None, found.shown[:TABLES]), title=TITLE)


def _reference_first(each: Compared) -> list[Arm]:
    return sorted(each.arms, key=lambda arm: arm.label != each.reference)


def _cells(each: Compared, arm: Arm) -> list[str]:
    aggregates, number, pair = each.aggregates[arm.label], each.measure.number, each.against(arm.label)
    place = f"{len(each.ends)} benchmarks" if each.task is None else each.task or "–"
    if pair is None:
        against = ["", "", "reference"]
    else:
        difference = with_interval(pair.difference, lambda value: signed(value, each.measure.places))
        p = or_nothing(pair.holm, "{:.2g}".format)
        against = [difference, p, outcome(each, pair.holm, pair.test.t)]
    return [
        arm.label,
        place,
        each.section.words,
        each.measure.label,
        f"{arm.n}" if arm.n == arm.expected else f"{arm.n}/{arm.expected}",
        with_sd(number, aggregates["mean"].value, None if each.task is None else arm.cells[each.task].sd),
        with_interval(aggregates["iqm"], number),
        *against,
    ]


def _verdict(found: Comparison, each: Compared) -> list[str]:
    """The arms by their results, if there are few comparisons."""
    if len(found.shown) > FEW:
        return []
    where = f"{len(each.ends)} benchmarks" if each.task is None else each.task
    words = ", ".join(filter(None, [where, each.section.words]))
    return [f"{words}: {sentence}" if words else sentence for sentence in welch_verdict(each)]
